// Taps: named sites of the forward pass where a value can be read, or another put in its place.
// The names are those of `model/inspection.py`. A tap is given the name of a site, its value at one
// token, and the token's index; the model goes on with what it returns.

export const untouched = (site, value) => value;

/** The same tap for sites whose names lack what they begin with, such as `layer.0.`. */
export function below(tap, prefix) {
  return (site, value, index) => tap(prefix + site, value, index);
}

/** The same tap at one token. */
export function atToken(tap, index) {
  return (site, value) => tap(site, value, index);
}

/** A name without its recurrence: what is changed is changed in all of them. */
export function withoutRecurrence(site) {
  return site.startsWith("recurrence.") ? site.replace(/^recurrence\.\d+\./, "") : site;
}

/** A tap that keeps every value in a table, by site and index. */
export function recording(found) {
  return (site, value, index) => {
    (found[site] ??= [])[index] = value;
    return value;
  };
}

/** One tap after the other; each is given what the one before it returns. */
export function inTurn(...taps) {
  return (site, value, index) => taps.reduce((now, tap) => tap(site, now, index), value);
}
