// Export of the matrix as PNG and SVG.

const MOST_CELLS = 10000; // as single rectangles

/** Escapes text for XML. */
function escaped(text) {
  return text.replace(/[&<>"]/g, (each) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[each]);
}

/** Writes a matrix as SVG: a rectangle for each run of equal colours, with the names of queries and keys. */
function svgOf({ size, rows, columns, title, colour, url }) {
  const cell = Math.max(2, Math.min(16, Math.floor(640 / Math.max(...size))));
  const named = Math.max(...size) <= 64;
  const [left, top] = named ? [130, 130] : [10, 30];
  const [width, height] = [left + cell * size[1] + 10, top + cell * size[0] + 10];
  const parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<title>${escaped(title)}</title><rect width="${width}" height="${height}" fill="#fff"/><text x="8" y="16">${escaped(title)}</text>`];
  if (size[0] * size[1] > MOST_CELLS) {
    parts.push(`<image href="${url}" x="${left}" y="${top}" width="${cell * size[1]}" height="${cell * size[0]}" style="image-rendering:pixelated"/>`);
  } else {
    for (let row = 0; row < size[0]; row += 1) {
      for (let first = 0, next; first < size[1]; first = next) {
        const shade = colour(row, first);
        for (next = first + 1; next < size[1] && colour(row, next) === shade; next += 1);
        parts.push(`<rect x="${left + first * cell}" y="${top + row * cell}" width="${(next - first) * cell}" height="${cell}" fill="${shade}"/>`);
      }
    }
  }
  if (named) {
    rows.forEach((name, at) => parts.push(`<text x="${left - 4}" y="${top + at * cell + cell * 0.75}" text-anchor="end" font-size="${Math.min(11, cell)}">${escaped(name)}</text>`));
    columns.forEach((name, at) => parts.push(`<text transform="translate(${left + at * cell + cell * 0.75} ${top - 4}) rotate(-90)" font-size="${Math.min(11, cell)}">${escaped(name)}</text>`));
  }
  return `${parts.join("")}</svg>`;
}

/** Makes the buttons that save the matrix of a pane. */
function makeExports(pane, store, colours, matrix) {
  const named = () => `attention-${idOf(mapOf(pane)).replace(/[^\w.]+/g, "-")}`;
  const png = () => onPaper(matrix.canvas, parseFloat(matrix.canvas.style.width), matrix.canvas.height / (window.devicePixelRatio || 1));
  const svg = () => {
    const map = mapOf(pane), most = largest(store, map);
    const colour = (row, column) => `#${colours[levelOf(valueAt(store, map, row, column), most, colours.length)].map((each) => each.toString(16).padStart(2, "0")).join("")}`;
    const words = `${pane.title}: ${map.part}${map.layer ? `, layer ${map.layer}, head ${map.head}` : ""}`;
    return svgOf({ size: map.size, rows: pane.sides[map.rows].names, columns: pane.sides[map.columns].names, title: words, colour, url: matrix.image().toDataURL() });
  };
  return saveButtons(named, png, svg);
}

if (typeof module !== "undefined") module.exports = { svgOf, escaped };
