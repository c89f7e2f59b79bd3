import fc from 'fast-check'
import t from 'tap'
import { csvLine as pageLine } from '../../dashboard/csv.js'
import { formatCsvLine, unguardCsvText } from '../../src/encoding/csv.ts'
import { readCsv } from '../../src/reconcile/invoices/csv.ts'
import { parseCsv } from '../support/csv.ts'
import { propertyRuns } from '../support/property-runs.ts'

const evaluated = /^\s*[=+\-@\uff0b\uff0d\uff1d\uff20]|^[\t\r\n]/
const isNumber = (text: string): boolean => /^-?\d+(\.\d+)?$/.test(text)

t.test('fields of CSV, one by one', async (t) => {
  const rows: readonly (readonly [value: string | number, field: string])[] = [
    ['-1.50', '-1.50'],
    [-3, '-3'],
    ['100', '100'],
    ['2026-03-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    ['', ''],
    ['=HYPERLINK("http://x")', `"'=HYPERLINK(""http://x"")"`],
    ['+1', "'+1"],
    ['-2+3', "'-2+3"],
    ['-', "'-"],
    ['-1e5', "'-1e5"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\tx', "'\tx"],
    ['\rx', `"'\rx"`],
    ['\nx', `"'\nx"`],
    [' =1', "' =1"],
    ["'=1", "''=1"],
    ["it's", "it's"],
    ["'x", "'x"],
    ['＝1', "'＝1"],
    ['a=b', 'a=b'],
    ['a,"b"', '"a,""b"""'],
  ]
  for (const [value, field] of rows) {
    t.equal(formatCsvLine([value]), `${field}\r\n`, JSON.stringify(value))
    t.equal(pageLine([value]), `${field}\r\n`, `the page: ${JSON.stringify(value)}`)
  }
})

t.test('what is written is read again, and a spreadsheet evaluates none of it', async () => {
  const hostile = fc.string({ unit: fc.constantFrom(...'\'"=+-@\t\r\n ,;.015aé＝'), maxLength: 8 })
  const text = fc.oneof(hostile, fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(fc.array(text, { minLength: 2, maxLength: 6 }), (values) => {
      const line = formatCsvLine(values)
      const [record = []] = parseCsv(line)
      const isSame =
        record.length === values.length && record.every((field, place) => unguardCsvText(field) === values[place])
      return isSame && line === pageLine(values) && record.every((field) => isNumber(field) || !evaluated.test(field))
    }),
    propertyRuns(1_000),
  )
})

t.test('an invoice may hold such fields', async (t) => {
  const fields = ['-1.50', '=1+1', "it's", 'x']
  async function* texts() {
    yield formatCsvLine(fields)
  }
  const records = []
  for await (const some of readCsv(texts())) records.push(...some)
  t.same(records, [{ line: 1, fields }])
})
