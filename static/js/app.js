/* Two small things that HTML cannot do: keep relative times true, and say when the live connection is lost. */
"use strict";

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/** Write how long ago (or ahead) a <time datetime data-ago> is; the exact time stays in its title. */
function retell(element) {
  const at = Date.parse(element.dateTime);
  if (Number.isNaN(at)) return;
  const seconds = Math.round((at - Date.now()) / 1000);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) || UNITS[3];
  element.textContent = words.format(Math.trunc(seconds / size), unit);
  element.title = new Date(at).toISOString();
}

function retellAll() {
  document.querySelectorAll("time[data-ago]").forEach(retell);
}

function showConnection(isLost) {
  const banner = document.getElementById("connection");
  if (banner) banner.hidden = !isLost;
}

document.addEventListener("DOMContentLoaded", retellAll);
document.addEventListener("htmx:afterSettle", retellAll);
setInterval(retellAll, 1000);
document.addEventListener("htmx:wsOpen", () => showConnection(false));
document.addEventListener("htmx:wsClose", () => showConnection(true));
