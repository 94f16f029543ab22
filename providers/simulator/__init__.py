"""A simulated fleet: real HTTP servers that speak engines' wires, with memory, slots, load time, token rate and faults.

It imitates what the real engine does to those who drive it wrongly, and counts it: it evicts, reloads, queues, refuses.
"""
