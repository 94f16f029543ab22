/* Small things that HTML cannot do: keep relative times true, write times in the reader's zone, draw how far a span is,
   lead to what was refused, and say when the live connection is lost. */
"use strict";

const SIZES = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const FEW = 2; // "1 min" says too little: the largest unit is the one that counts to two
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const TELL = {
  ago: (length, past) => (past < 1 ? "now" : `${length} ago`),
  for: (length) => length,
  since: (length, past, at) => `since ${clock.format(at)} (${length})`,
  until: (length, past) => (past > 0 ? "its time is over" : `gives up in ${length}`),
  in: (length, past) => (past > -1 ? "soon" : length),
  due: (length, past) => (past > -1 ? "soon" : `in ${length}`),
  left: (length, past) => (past > -1 ? "any moment now" : `about ${length} more`),
  after: (length, past) => (past > -1 ? "any moment" : `in ${length}`),
};
let skewMs = 0; // how far this computer's clock is ahead of the server's

/** Write a number of seconds as people say it: 14 s, 3 min, 5 h. */
function span(seconds) {
  const [unit, size] = SIZES.find(([, length]) => seconds >= FEW * length) || SIZES[3];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Tell a <time datetime data-tell> relative to now. The exact time, in the reader's zone, is its title. */
function retell(element) {
  const at = Date.parse(element.dateTime);
  if (Number.isNaN(at)) return;
  const past = (Date.now() - skewMs - at) / 1000;
  const words = TELL[element.dataset.tell](span(Math.abs(past)), past, new Date(at));
  if (element.textContent === words) return;
  element.textContent = words;
  element.title = new Date(at).toLocaleString();
}

function retellAll() {
  const server = document.getElementById("server-now");
  if (server && server.dataset.read !== server.dateTime) {
    skewMs = Date.now() - Date.parse(server.dateTime);
    server.dataset.read = server.dateTime;
  }
  document.querySelectorAll("time[data-tell]").forEach(retell);
}

/** Write a time of the day in the reader's zone, where its place says the rest. */
function tellClocks() {
  for (const element of document.querySelectorAll("[data-clock]")) {
    element.textContent = clock.format(Date.parse(element.dataset.clock));
  }
}

/** Draw how far something is that has a beginning and an estimated end. It is never whole before it is over. */
const ALMOST = 0.99;
function drawSpans() {
  const now = Date.now() - skewMs;
  for (const bar of document.querySelectorAll("progress[data-ends]")) {
    const began = Date.parse(bar.dataset.began);
    const length = Date.parse(bar.dataset.ends) - began;
    bar.value = Math.min(ALMOST, Math.max(0, (now - began) / Math.max(length, 1)));
  }
}

function showConnection(isLost) {
  const banner = document.getElementById("connection");
  if (banner) banner.hidden = !isLost;
}

function tellAll() {
  retellAll();
  tellClocks();
  drawSpans();
}

/** Lead to what was refused: it stands beside its field, which may be far below. */
function leadToWrong() {
  const wrong = document.querySelector(".field.wrong :is(input, select, textarea)");
  if (wrong) wrong.focus();
  else document.querySelector("form > .note.bad")?.scrollIntoView({ block: "center" });
}

window.addEventListener("load", leadToWrong); // after the browser went to the address's fragment, which takes the focus away
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone
  tellAll();
});
document.addEventListener("htmx:afterSettle", tellAll);
setInterval(retellAll, 1000);
setInterval(drawSpans, 250);
