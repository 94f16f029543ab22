/* What live pages need beside htmx: keep what a person opened, notice silence, say when the session is over. */
"use strict";

const SILENCE_MS = 20000; // the server says something every 5 s
const SIGNED_OUT = 4401;
const COMES_BACK = [1006, 1011, 1012, 1013]; // htmx reconnects after these by itself
let lastHeard = Date.now();
let socket = null;
let isOpen = false;

/** Show what a person has open, or was looking at, the same way after an element was replaced. */
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  for (const details of target.querySelectorAll("details[open]")) {
    const successor = fragment.querySelector(`#${CSS.escape(details.id)}`);
    if (successor) successor.open = true;
  }
  for (const newcomer of fragment.querySelectorAll("[data-arrives]")) {
    if (!document.getElementById(newcomer.id)) newcomer.classList.add("arrives");
  }
  const focused = document.activeElement;
  if (focused && target.contains(focused)) {
    const wanted = focused.id ? `#${CSS.escape(focused.id)}` : `a[href="${CSS.escape(focused.getAttribute("href"))}"]`;
    queueMicrotask(() => document.getElementById(target.id)?.parentElement.querySelector(wanted)?.focus({ preventScroll: true }));
  }
});

function heard() {
  lastHeard = Date.now();
  showConnection(false);
  tellAll();
}

function lost() {
  isOpen = false;
  showConnection(true);
}

async function lookForSignIn() {
  try {
    const answer = await fetch("/", { method: "HEAD", headers: { Accept: "text/html" }, redirect: "manual" });
    if (answer.type === "opaqueredirect") signedOut();
  } catch { /* no answer at all: the banner says so already */ }
}

function signedOut() {
  showConnection(false);
  document.getElementById("signed-out").hidden = false;
}

document.addEventListener("htmx:wsOpen", (event) => {
  socket = event.detail.socketWrapper;
  isOpen = true;
  lastHeard = Date.now();
  document.getElementById("signed-out").hidden = true;
});
document.addEventListener("htmx:wsAfterMessage", heard);
document.addEventListener("htmx:wsClose", (event) => {
  const { code } = event.detail.event;
  const wasOpen = isOpen;
  lost();
  if (code === SIGNED_OUT) signedOut();
  else if (!COMES_BACK.includes(code) && socket) setTimeout(() => socket.reconnect(), 2000);
  else if (!wasOpen) lookForSignIn();
});
setInterval(() => {
  if (!isOpen || !socket || Date.now() - lastHeard < SILENCE_MS) return;
  lost(); // a connection that died without a word: a machine that slept, a cable that was pulled
  socket.reconnect();
}, 5000);
