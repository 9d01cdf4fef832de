// Unpacks the weights: scales of rows as float32, then high bytes, then low bytes (of 16 bits) of all maps.

/** Turns base64 into bytes. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text.trim());
  const characters = atob(text.trim());
  const bytes = new Uint8Array(characters.length);
  for (let place = 0; place < characters.length; place += 1) bytes[place] = characters.charCodeAt(place);
  return bytes;
}

/** Unpacks gzip. */
async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Splits unpacked bytes into scales and levels. */
function split(bytes, { bits, scales, numbers }) {
  const first = scales * 4;
  return {
    bits,
    scales: new Float32Array(bytes.slice(0, first).buffer),
    high: bytes.subarray(first, first + numbers),
    low: bits === 16 ? bytes.subarray(first + numbers, first + 2 * numbers) : null,
  };
}

/** Gives a weight of a map: the sign, and the square of the level's share, times the scale of the row. */
function valueAt(store, map, row, column) {
  const place = map.at[1] + row * map.size[1] + column;
  let level = store.low ? store.high[place] * 256 + store.low[place] : store.high[place];
  const most = 2 ** store.bits - 1;
  const half = (most - 1) / 2;
  const scale = store.scales[map.at[0] + row];
  if (!map.signed) return scale * (level / most) ** 2;
  const negative = level > half;
  if (negative) level -= half + 1;
  return (negative ? -1 : 1) * scale * (level / half) ** 2;
}

/** Gives the largest size of a map's weights. */
function largest(store, map) {
  let most = 0;
  for (let row = 0; row < map.size[0]; row += 1) most = Math.max(most, store.scales[map.at[0] + row]);
  return most;
}

/** Writes a weight with as many digits as are known: three behind the point, or of 8 bits the first two. */
function written(value, bits) {
  const size = Math.abs(value);
  if (bits !== 16) return size < 0.1 && size !== 0 ? `≈ ${+value.toPrecision(2)}` : `≈ ${value.toFixed(2)}`;
  return size !== 0 && size < 0.0005 ? value.toExponential(1) : value.toFixed(3);
}

if (typeof module !== "undefined") module.exports = { bytesOf, inflated, split, valueAt, largest, written };
