const decimal = /^-?\d+(\.\d+)?$/

// What a spreadsheet evaluates, also in full width, and after apostrophes that are not ours.
const formula = /^'*(?:[\t\r\n]|\s*[=+\-@\uff0b\uff0d\uff1d\uff20])/
const guardedFormula = /^'+(?:[\t\r\n]|\s*[=+\-@\uff0b\uff0d\uff1d\uff20])/
const needsQuotes = /[",\r\n]/

/** Numbers stay numbers; other text that a spreadsheet would evaluate is prefixed with an apostrophe. */
const csvField = (value: string | number): string => {
  const text = String(value)
  const guarded = formula.test(text) && !decimal.test(text) ? `'${text}` : text
  return needsQuotes.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

/** A record of RFC 4180, with its line end. */
export const formatCsvLine = (values: readonly (string | number)[]): string => `${values.map(csvField).join(',')}\r\n`

/** The text given to `formatCsvLine`, from a field without its quotes. */
export const unguardCsvText = (field: string): string => (guardedFormula.test(field) ? field.slice(1) : field)
