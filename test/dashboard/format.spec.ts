import fc from 'fast-check'
import t from 'tap'
import { csvField, csvLine } from '../../dashboard/csv.js'
import {
  alignedMoney,
  compareAmounts,
  dayText,
  decimalsOf,
  duration,
  localClock,
  localDay,
  localTime,
  money,
  rangeOf,
  roughly,
  runwayText,
  shortId,
  shortTime,
  sumOf,
  utcTime,
  words,
} from '../../dashboard/format.js'
import { eventReader } from '../../dashboard/sse.js'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'

const picos = fc.bigInt({ min: -(10n ** 26n), max: 10n ** 26n })

t.test('an amount keeps every digit', async (t) => {
  t.equal(money('0'), '0.00')
  t.equal(money('-1234567.000000000001'), '−1,234,567.000000000001')
  t.equal(money('999999999999999.999999999999'), '999,999,999,999,999.999999999999')
  t.equal(money('no amount'), 'no amount')
  fc.assert(
    fc.property(picos, (amount) => {
      const shown = money(formatUsd(amount)).replace('−', '-').replaceAll(',', '')
      return parseUsd(shown) === amount
    }),
  )
})

t.test('decimal points of a column stand below each other', async () => {
  fc.assert(
    fc.property(fc.array(picos, { minLength: 1 }), (amounts) => {
      const texts = amounts.map(formatUsd)
      const decimals = Math.max(...texts.map(decimalsOf))
      const behind = texts.map((text) => alignedMoney(text, decimals)).map((text) => text.length - text.indexOf('.'))
      return new Set(behind).size === 1
    }),
  )
})

t.test('sums and order are exact', async () => {
  fc.assert(
    fc.property(fc.array(picos, { maxLength: 20 }), (amounts) => {
      const sum = amounts.reduce((before, each) => before + each, 0n)
      return sumOf(amounts.map(formatUsd)) === formatUsd(sum)
    }),
  )
  fc.assert(
    fc.property(picos, picos, (one, other) => {
      return compareAmounts(formatUsd(one), formatUsd(other)) === (one < other ? -1 : one > other ? 1 : 0)
    }),
  )
})

t.test('a rate is told roughly', async (t) => {
  t.same(['0.820642003117', '0.0000123', '12.999', '0'].map(roughly), ['0.82', '0.000012', '12.99', '0.00'])
})

t.test('times are those of the viewer, and of UTC where that is asked', async (t) => {
  const iso = '2026-11-21T23:30:05.120Z'
  const berlin = { locale: 'en-GB', timeZone: 'Europe/Berlin' }
  t.equal(localTime(iso, berlin), '22 Nov 2026, 00:30:05')
  t.equal(localTime(iso, { locale: 'en-GB', timeZone: 'America/New_York' }), '21 Nov 2026, 18:30:05')
  t.equal(localDay(iso, berlin), '22 Nov 2026')
  t.equal(localClock(iso, berlin), '00:30:05')
  t.equal(utcTime(iso), '2026-11-21 23:30:05.120 UTC')
})

t.test('a short date has its year where that is not the current one', async (t) => {
  const berlin = { locale: 'en-GB', timeZone: 'Europe/Berlin' }
  const newYearMs = Date.parse('2026-01-01T00:30:00Z')
  const short = (iso: string, nowMs = newYearMs) => shortTime(iso, nowMs, berlin)
  t.equal(short('2026-11-21T23:30:05Z'), '22 Nov, 00:30')
  t.equal(short('2027-11-21T23:30:05Z'), '22 Nov 2027, 00:30')
  t.equal(short('2025-12-31T22:59:59Z'), '31 Dec 2025, 23:59')
  t.equal(short('2025-12-31T23:00:00Z'), '01 Jan, 00:00', 'the year is that of the zone')
  t.equal(short('2025-12-31T22:00:00Z', Date.parse('2025-12-31T22:30:00Z')), '31 Dec, 23:00')
  t.match(dayText('2026-11-21', newYearMs, 'en-GB'), /^Sat,? 21 Nov$/)
  t.match(dayText('2025-12-31', newYearMs, 'en-GB'), /^Wed,? 31 Dec 2025$/)
  t.match(dayText('2025-12-31', newYearMs - 3_600_000, 'en-GB'), /^Wed,? 31 Dec$/)
})

t.test('days of a filter are those of UTC, the last one included', async (t) => {
  t.same(rangeOf('', ''), {})
  t.same(rangeOf('2026-03-01', '2026-03-01'), { from: '2026-03-01', to: '2026-03-01' })
  t.same(rangeOf('2027-12-31', ''), { from: '2027-12-31' })
  t.same(rangeOf('', '2027-12-31'), { to: '2027-12-31' })
})

t.test('how long the money lasts, in words', async (t) => {
  const nowMs = Date.parse('2026-03-01T00:00:00Z')
  const after = (ms: number) => runwayText({ spent: '1', until: new Date(nowMs + ms).toISOString() }, nowMs)
  t.equal(after(12.5 * 86_400_000), 'About 12 days')
  t.equal(after(47 * 3_600_000), 'About 47 hours')
  t.equal(after(100_000), 'About 1 minute')
  t.equal(after(0), 'Nothing is left')
  t.equal(runwayText({ spent: '0', until: null }, nowMs), 'Nothing was spent lately')
  t.equal(runwayText({ spent: '0.01', until: null }, nowMs), 'More than ten years')
  t.equal(duration(1), 'less than a minute')
})

t.test('words and ids', async (t) => {
  t.equal(words('IN_PROGRESS'), 'In progress')
  t.equal(shortId('short'), 'short')
  t.equal(shortId('task_0123456789abcdefghijklmnop'), 'task_0123456…ijklmnop')
})

t.test('a spreadsheet takes nothing for a formula, and numbers for numbers', async (t) => {
  const rows: readonly (readonly [value: string | number | null, field: string])[] = [
    ['-0.000000000001', '-0.000000000001'],
    ['100', '100'],
    [7, '7'],
    [null, ''],
    ['=1+1', "'=1+1"],
    ['-1+cmd|x', "'-1+cmd|x"],
    ['+49', "'+49"],
    ['@sum', "'@sum"],
    ['\tx', "'\tx"],
    ['\r=x', `"'\r=x"`],
    ['＝1', "'＝1"],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ]
  for (const [value, field] of rows) t.equal(csvField(value), field, JSON.stringify(value))
  t.equal(csvLine(['a', null, 3]), 'a,,3\r\n')
})

t.test('server-sent events, wherever they are cut', async (t) => {
  const text = ': keep-alive\n\nid: 1-0\nevent: event\ndata: {"a":1}\n\nevent: missed\ndata: {"events":2}\n\n'
  const expected = [
    ['event', '{"a":1}'],
    ['missed', '{"events":2}'],
  ]
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const seen: (readonly [string, string])[] = []
      const read = eventReader((name, data) => seen.push([name, data]))
      const places = [0, ...cuts.toSorted((one, other) => one - other), text.length]
      for (let place = 1; place < places.length; place += 1) read(text.slice(places[place - 1], places[place]))
      return JSON.stringify(seen) === JSON.stringify(expected)
    }),
  )
  t.pass()
})
