// The figure as a file of its own, which no style of a page reaches.

const LOOKS = ["fill", "fill-opacity", "font", "opacity", "paint-order", "stroke", "stroke-dasharray", "stroke-width"];

/** Writes an SVG of the page with the looks that the page's style gives each of its parts now. */
function standalone(figure) {
  const copy = figure.cloneNode(true), { width, height } = figure.viewBox.baseVal, copies = copy.querySelectorAll("*");
  figure.querySelectorAll("*").forEach((node, place) => {
    const looks = getComputedStyle(node);
    for (const name of LOOKS) copies[place].style.setProperty(name, looks.getPropertyValue(name));
  });
  copy.prepend(svgElement("rect", { width, height, fill: styled("--page") }));
  return new XMLSerializer().serializeToString(filled(copy, { width, height }, []));
}

/** Draws an SVG of the page on a canvas. */
async function rasterised(figure) {
  const { width, height } = figure.viewBox.baseVal, image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(standalone(figure))}`;
  await image.decode();
  return onPaper(image, width, height);
}
