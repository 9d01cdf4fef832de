// The address keeps what is chosen, so that a link opens the same view.

const NUMBERS = ["row", "column", "step"];
const WORDS = ["map", "under", "way"];

/** Writes what is chosen as the part of an address behind #. */
function toAddress(state) {
  const pairs = [...WORDS, ...NUMBERS].filter((key) => state[key] !== undefined && state[key] !== null);
  return pairs.map((key) => `${key}=${encodeURIComponent(state[key])}`).join("&");
}

/** Reads it back; what is no known key, or no number where one belongs, is left out. */
function fromAddress(text) {
  const found = {};
  for (const pair of text.replace(/^#/, "").split("&")) {
    const [key, value = ""] = pair.split("=");
    let word;
    try { word = decodeURIComponent(value); } catch { continue; }
    if (WORDS.includes(key)) found[key] = word;
    if (NUMBERS.includes(key) && /^\d+$/.test(word)) found[key] = Number(word);
  }
  return found;
}

if (typeof module !== "undefined") module.exports = { toAddress, fromAddress };
