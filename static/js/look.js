/* What pages that look again need beside htmx: rest while nobody sees them, and say when nobody answers. */
"use strict";

const isLook = (event) => event.target.id === "look";

document.addEventListener("htmx:beforeRequest", (event) => {
  if (isLook(event) && document.hidden) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  const look = document.getElementById("look");
  if (look && !document.hidden) htmx.trigger(look, "look");
});
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  document.addEventListener(name, (event) => {
    if (isLook(event)) showConnection(true);
  });
}
document.addEventListener("htmx:afterRequest", (event) => {
  if (isLook(event) && event.detail.successful) heard();
});
