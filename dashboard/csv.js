// @ts-check

/** What a spreadsheet evaluates, also in full width, and behind apostrophes that are not ours: the guard can be taken off again. */
const formula = /^'*(?:[\t\r\n]|\s*[=+\-@\uff0b\uff0d\uff1d\uff20])/
const decimal = /^-?\d+(\.\d+)?$/

/**
 * A field as a spreadsheet takes it for what it is: numbers as they are, to the last digit; text that begins like a formula behind an
 * apostrophe.
 *
 * @param {string | number | null} value
 */
export const csvField = (value) => {
  const text = value === null ? '' : String(value)
  const guarded = formula.test(text) && !decimal.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

/** @param {readonly (string | number | null)[]} fields */
export const csvLine = (fields) => `${fields.map(csvField).join(',')}\r\n`
