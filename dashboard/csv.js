// @ts-check

/** What a spreadsheet would take for the beginning of a formula, ASCII or full width. */
const formula = /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/
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
