/* Buttons that copy: shown where scripts run, and able where the page came by plain http. */
"use strict";

const SAYS_MS = 2000;

/** Copy by selecting, the only way where the browser offers no clipboard: it does so by https and on this computer alone. */
function copyBySelecting(element) {
  const range = document.createRange();
  range.selectNodeContents(element);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return document.execCommand("copy");
}

async function copied(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    return copyBySelecting(element); // what could not be copied is selected at least
  }
}

function say(button, words) {
  const text = button.firstChild; // what follows it is for screen readers alone
  button.dataset.says ??= text.data;
  text.data = words;
  clearTimeout(button.saying);
  button.saying = setTimeout(() => { text.data = button.dataset.says; }, SAYS_MS);
}

document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      say(button, await copied(document.getElementById(button.dataset.copy)) ? "Copied" : "Press Ctrl+C");
    });
  }
});
