// From weights to colours.

/** Reads colours from one text of hexadecimal digits, six for each. */
function coloursOf(text) {
  return Array.from({ length: text.length / 6 }, (_, place) =>
    [0, 2, 4].map((digit) => parseInt(text.slice(6 * place + digit, 6 * place + digit + 2), 16)));
}

/** Gives the place of a weight among the colours: by the root of its share of the largest, so that small ones show. */
function levelOf(value, most, count) {
  if (!(most > 0)) return 0;
  return Math.round((count - 1) * Math.sqrt(Math.min(Math.abs(value) / most, 1)));
}

/** Says whether black or white is read better on a colour. */
function inkOn([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128 ? "#000" : "#fff";
}

/** Writes a colour for CSS. */
function css([red, green, blue], alpha = 1) {
  return `rgba(${red},${green},${blue},${alpha})`;
}

if (typeof module !== "undefined") module.exports = { coloursOf, levelOf, inkOn };
