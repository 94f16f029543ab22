"""Who may take a server's last places: the decision and the ledger's own check must say the same."""

RESERVES = [
    # cap, reserve, interactive and background calls that run, whether another one of each class gets a place
    (1, 0, 0, 0, True, True),
    (2, 1, 0, 1, True, False),
    (2, 1, 1, 0, True, True),
    (4, 1, 0, 3, True, False),
    (4, 1, 2, 1, True, True),
    (4, 1, 1, 3, False, False),
    (4, 1, 4, 0, False, False),
    (4, 2, 1, 2, True, False),
]
