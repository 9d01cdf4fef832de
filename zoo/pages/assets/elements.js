// Elements of HTML and SVG, canvases that are sharp on any screen, and colours of the theme.

/** Gives a node its attributes, listeners (onclick: …) and children. */
function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** Makes an element of HTML. */
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Makes an element of SVG. */
function svgElement(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** Gives a canvas a size in CSS pixels, sharp on any screen, and returns its context. */
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Gives a colour of the theme. */
function styled(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
