// Drawings saved as PNG and SVG.

/** Copies a drawing onto a canvas whose paper has the page's colour, of a size in CSS pixels. */
function onPaper(image, width, height) {
  const paper = document.createElement("canvas");
  const context = sized(paper, width, height);
  context.fillStyle = styled("--page");
  context.fillRect(0, 0, width, height);
  context.drawImage(image, 0, 0, width, height);
  return paper;
}

/** Lets the browser save a file. */
function saved(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Makes the buttons that save a drawing: `named` gives the file's name, `png` a canvas or its promise, `svg` a text. */
function saveButtons(named, png, svg) {
  const asPng = async () => (await png()).toBlob((blob) => saved(blob, `${named()}.png`), "image/png");
  const asSvg = () => saved(new Blob([svg()], { type: "image/svg+xml" }), `${named()}.svg`);
  return [element("button", { type: "button", onclick: asPng }, "Save PNG"), element("button", { type: "button", onclick: asSvg }, "Save SVG")];
}
