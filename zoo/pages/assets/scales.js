// Axes: from values to places, and the values at which ticks stand.

/** Gives the function from the values of an axis to places along it. */
function scaleOf([low, high], [from, to], logarithmic = false) {
  const along = logarithmic ? Math.log : (value) => value;
  const length = along(high) - along(low) || 1;
  return (value) => from + ((along(Math.max(value, logarithmic ? low : -Infinity)) - along(low)) / length) * (to - from);
}

/** Gives ticks that leave room for their labels: the finest of 1 2 5, 1 3, 1 … of each power of ten, or of even steps. */
function ticksOf([low, high], position, room, logarithmic = false) {
  const inside = (values) => values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  const apart = (values) => values.every((v, i) => !i || Math.abs(position(v) - position(values[i - 1])) >= room);
  const powers = Array.from({ length: 40 }, (_, index) => 10 ** (index - 12));
  const digits = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]];
  const steps = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const tries = logarithmic
    ? digits.map((each) => inside(powers.flatMap((power) => each.map((digit) => digit * power))))
    : steps.filter((step) => (high - low) / step < 50).map((step) =>
        inside(Array.from({ length: 51 }, (_, index) => (Math.ceil(low / step) + index) * step)));
  return tries.find(apart) ?? inside([low, high]);
}

if (typeof module !== "undefined") module.exports = { scaleOf, ticksOf };
