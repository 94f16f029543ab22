/* The API page: Swagger's own dark dress follows the reader's theme, as every other page does. */
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const dress = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", dress);
dress();
