import { createHash } from 'node:crypto'
import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { readCsv } from '../../../src/reconcile/invoices/csv.ts'
import { createDayFormatter, isZoneName } from '../../../src/reconcile/invoices/days.ts'
import { hundredth, parseDecimal, picosRoundingHalfUp, toWholeNumber } from '../../../src/reconcile/invoices/decimal.ts'
import { type FormatName, Invoice } from '../../../src/reconcile/invoices/invoice.ts'
import { JsonElements } from '../../../src/reconcile/invoices/json-elements.ts'
import { type InvoiceRow, isRowFault } from '../../../src/reconcile/invoices/row.ts'

interface ReadInvoice {
  readonly rows: readonly InvoiceRow[]
  /** `<row>: <problem>`. */
  readonly faults: readonly string[]
  readonly digest: string
}

type InvoiceTexts = string | readonly (string | Buffer)[]

const read = async (format: FormatName, texts: InvoiceTexts, timezone = 'UTC'): Promise<ReadInvoice> => {
  const files = [texts].flat().map((text, place) => ({
    name: `file-${place}`,
    async *open() {
      const bytes = typeof text === 'string' ? Buffer.from(text) : text
      for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100)
    },
  }))
  const invoice = new Invoice(files, format, {
    provider: 'openai',
    dayOf: createDayFormatter(timezone),
    roundingPicos: null,
  })
  const rows: InvoiceRow[] = []
  const faults: string[] = []
  for await (const some of invoice.rows())
    for (const row of some) {
      if (isRowFault(row)) faults.push(`${row.row}: ${row.problem}`)
      else rows.push(row)
    }
  return { rows, faults, digest: invoice.digest }
}

/** `<row> <day> <model> <item>=<quantity> <USD>`. */
const short = ({ row, day, model, item, quantities, amountPicos, subject }: InvoiceRow): string =>
  [
    row,
    subject === null ? null : `${subject.kind}:${subject.id}`,
    day,
    model,
    quantities === null ? item : quantities.map(([name, quantity]) => `${name}=${quantity}`).join('+'),
    amountPicos === null ? null : formatUsd(amountPicos),
  ]
    .filter((each) => each !== null)
    .join(' ')

const all = async (format: FormatName, texts: InvoiceTexts, timezone?: string) => {
  const { rows, faults } = await read(format, texts, timezone)
  return { rows: rows.map(short), faults }
}

t.test('decimals as they are written', async (t) => {
  const picos = (text: string) => {
    const decimal = parseDecimal(text)
    return decimal === null ? null : formatUsd(picosRoundingHalfUp(decimal))
  }
  t.equal(picos('0.06'), '0.06')
  t.equal(picos('0.000004500000000000000000000000000000000'), '0.0000045')
  t.equal(picos('0E-6176'), '0')
  t.equal(picos('4.5E-7'), '0.00000045')
  t.equal(picos('1.2e3'), '1200')
  t.equal(picos('-3.5'), '-3.5')
  t.equal(picos('0.0000000000005'), '0.000000000001')
  t.equal(picos('-0.0000000000005'), '-0.000000000001')
  for (const text of ['', '.5', '1,5', '0x1', 'NaN', '1e', '1e99', '--1', '1 000']) t.equal(picos(text), null, text)
  t.equal(toWholeNumber(parseDecimal('59200.0')!), 59_200n)
  t.equal(toWholeNumber(parseDecimal('1.5')!), null)
  t.equal(toWholeNumber(parseDecimal('-1')!), null)
  t.equal(formatUsd(picosRoundingHalfUp(hundredth(parseDecimal('123.78912')!))), '1.2378912')
})

t.test('days are those of a zone', async (t) => {
  const at = Date.parse('2026-03-01T18:30:00Z')
  t.equal(createDayFormatter('UTC')(at), '2026-03-01')
  t.equal(createDayFormatter('Asia/Shanghai')(at), '2026-03-02')
  t.equal(createDayFormatter('America/Los_Angeles')(Date.parse('2026-03-01T05:00:00Z')), '2026-02-28')
  t.throws(() => createDayFormatter('Mars/Olympus'), RangeError)
  for (const name of ['UTC', 'Asia/Shanghai', 'America/Argentina/Buenos_Aires', 'Etc/GMT+8'])
    t.ok(isZoneName(name), name)
  for (const name of ['+08:00', '-08', 'CET', 'IST', 'UTC+8', 'Mars/Olympus', '']) t.notOk(isZoneName(name), name)
})

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
}

t.test('CSV comes in pieces that end anywhere', async (t) => {
  const text = '\ufeffa,b\r\n1,"two, ""2"""\n"line\nbreak",\n\n"a\r\nb",\r\n3,"4"'
  const expected = [
    { line: 1, fields: ['a', 'b'] },
    { line: 2, fields: ['1', 'two, "2"'] },
    { line: 3, fields: ['line\nbreak', ''] },
    { line: 6, fields: ['a\r\nb', ''] },
    { line: 8, fields: ['3', '4'] },
  ]
  for (let size = 1; size <= text.length; size += 1) {
    const records = []
    for await (const some of readCsv(inPieces(text, size))) records.push(...some)
    t.same(records, expected, `pieces of ${size}`)
  }
})

t.test('a record of CSV has an end', async (t) => {
  const pieceCharacters = 64 * 1024
  for (const [name, record] of Object.entries({
    'a field': 'x'.repeat(2 ** 21),
    'within quotes': `"${'x\n'.repeat(2 ** 20)}`,
    'columns without a text': ','.repeat(2 ** 21),
  })) {
    const lines: number[] = []
    const read = async () => {
      for await (const some of readCsv(inPieces(`a,b\n${record}`, pieceCharacters)))
        lines.push(...some.map(({ line }) => line))
    }
    await t.rejects(read(), { line: 2, message: 'is longer than 1048576 characters' }, name)
    t.same(lines, [1], 'what comes before is read')
  }
  let records = 0
  for await (const some of readCsv(inPieces('\n'.repeat(2 ** 21), pieceCharacters))) records += some.length
  t.equal(records, 0, 'blank lines are no record')
})

t.test('pages of JSON come in pieces that end anywhere', async (t) => {
  const texts: readonly (readonly [string, readonly unknown[], boolean])[] = [
    [
      '\ufeff{"data":[{"a":[1,{"b":"]}\\""}]},{"c":-1.50e3}, 7],"has_more":true}',
      [{ a: ['1', { b: ']}"' }] }, { c: '-1.50e3' }, '7'],
      true,
    ],
    ['[{"data":[{"a":1}],"has_more":true},\n{"has_more":false,"data":[{"b":2}]}]', [{ a: '1' }, { b: '2' }], false],
    ['{"data":[{"a":1}]}{"data":[]}', [{ a: '1' }], false],
    ['{"code":0,"data":{"task":{"data":[1]}}}', [{ task: { data: ['1'] } }], false],
    ['{"data":{"data":[1]},"more":{"data":[2]}}', [{ data: ['1'] }], false],
    ['[]{"data":null}', [], false],
    ['{"data":[0E-6176,-0,12345678901234567890.123]}', ['0E-6176', '-0', '12345678901234567890.123'], false],
  ]
  for (const [text, elements, hasMore] of texts)
    for (let size = 1; size <= text.length; size += 1) {
      const json = new JsonElements()
      const found = []
      for await (const piece of inPieces(text, size)) found.push(...json.push(piece))
      json.end()
      t.same([found, json.hasMore], [elements, hasMore])
    }
})

t.test('an element has its own members only', async (t) => {
  const [element] = new JsonElements().push('{"data":[{"__proto__":{"amount":"1"}}]}')
  t.equal((element as { amount?: string }).amount, undefined)
})

t.test('an element of a page has an end', async (t) => {
  const json = new JsonElements()
  const piece = 'x'.repeat(2 ** 20)
  t.throws(
    () => {
      json.push('{"data":["')
      for (let pieces = 0; pieces < 65; pieces += 1) json.push(piece)
    },
    { name: 'JsonFault', message: 'a part of a page has more than 67108864 characters' },
  )
})

const openaiPage = (results: readonly object[], more = {}) =>
  JSON.stringify({
    object: 'page',
    data: [{ object: 'bucket', start_time: 1_730_419_200, end_time: 1_730_505_600, results }],
    has_more: false,
    next_page: null,
    ...more,
  })

const completions = {
  object: 'organization.usage.completions.result',
  input_tokens: 5_000,
  output_tokens: 1_000,
  num_model_requests: 5,
  model: 'gpt-4o-mini-2024-07-18',
}

t.test("OpenAI's usage", async (t) => {
  const detailed = {
    ...completions,
    input_cached_tokens: 1_800,
    input_cache_write_tokens: 200,
    input_audio_tokens: 300,
    input_image_tokens: 200,
    output_audio_tokens: 100,
    output_image_tokens: 100,
  }
  const searches = {
    object: 'organization.usage.web_searches.result',
    num_model_requests: 2,
    num_requests: 3,
    model: 'gpt-5',
  }
  const sessions = { object: 'organization.usage.code_interpreter_sessions.result', num_sessions: 1 }
  t.same(await all('openai-usage', openaiPage([detailed, searches, sessions])), {
    rows: [
      '1 2024-11-01 gpt-4o-mini-2024-07-18 input=2500',
      '1 2024-11-01 gpt-4o-mini-2024-07-18 cached_input=1800',
      '1 2024-11-01 gpt-4o-mini-2024-07-18 cache_write=200',
      '1 2024-11-01 gpt-4o-mini-2024-07-18 audio_input=300',
      '1 2024-11-01 gpt-4o-mini-2024-07-18 image_input=200',
      '1 2024-11-01 gpt-4o-mini-2024-07-18 output=800',
      '1 2024-11-01 gpt-4o-mini-2024-07-18 audio_output=100',
      '1 2024-11-01 gpt-4o-mini-2024-07-18 image_output=100',
      '2 2024-11-01 gpt-5 web_search=3',
      '3 2024-11-01 code_interpreter=1',
    ],
    faults: [],
  })
  t.same(
    (await all('openai-usage', openaiPage([{ ...completions, input_tokens: 0, output_tokens: 0 }]))).rows,
    ['1 2024-11-01 gpt-4o-mini-2024-07-18 input=0'],
    'a row of nothing is a row',
  )
})

t.test("OpenAI's usage as its dashboard exports it", async (t) => {
  const columns =
    'start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,model,batch,input_tokens,output_tokens,input_cached_tokens'
  const minute = '1759622400,1759622460,2025-10-05T00:00:00+00:00,2025-10-05T00:01:00+00:00'
  t.same(
    await all(
      'openai-usage',
      `${columns}\n${minute},proj_1,10.0,gpt-4o-2024-08-06,FALSE,59200.0,10646.0,5760.0\n${minute},,,,,,,\n`,
    ),
    {
      rows: [
        '2 2025-10-05 gpt-4o-2024-08-06 input=53440',
        '2 2025-10-05 gpt-4o-2024-08-06 cached_input=5760',
        '2 2025-10-05 gpt-4o-2024-08-06 output=10646',
      ],
      faults: [],
    },
    'an empty minute is no row',
  )
  t.same(await all('openai-usage', `start_time,end_time,start_time_iso,end_time_iso\n${minute}`), {
    rows: [],
    faults: [],
  })
})

t.test("OpenAI's costs", async (t) => {
  const cost = (line_item: string | null, value: string | number, more = {}) => ({
    object: 'organization.costs.result',
    amount: { value, currency: 'usd' },
    line_item,
    ...more,
  })
  t.same(
    await all(
      'openai-costs',
      openaiPage([
        cost('gpt-4o-mini-2024-07-18, cached input', '0E-6176', { quantity: 0 }),
        cost('gpt-4o-mini-2024-07-18, input', '0.000004500000000000000000000000000000000', { quantity: 30 }),
        cost('gpt-5-nano, output_tokens', 0.5, { quantity: 2.5, quantity_unit: '1000_tokens' }),
        cost('gpt-5.6-luna, cache writes', 0.00116775, { quantity: 4671, quantity_unit: 'tokens' }),
        cost('gpt-image-2-2026-04-21 image, output', 0.16545),
        cost('gpt-audio-mini, audio output', 0.1, { quantity: 5, quantity_unit: 'duration_seconds' }),
        cost('web search tool calls', 1, { quantity: 10, quantity_unit: 'calls' }),
        cost('evals | gpt-4o-mini-2024-07-18, input', 0.01),
        cost('assistants api | file search', 0.02),
      ]),
    ),
    {
      rows: [
        '1 2024-11-01 gpt-4o-mini-2024-07-18 cached_input=0 0',
        '2 2024-11-01 gpt-4o-mini-2024-07-18 input=30 0.0000045',
        '3 2024-11-01 gpt-5-nano output=2500 0.5',
        '4 2024-11-01 gpt-5.6-luna cache_write=4671 0.00116775',
        '5 2024-11-01 gpt-image-2-2026-04-21 image_output 0.16545',
        '6 2024-11-01 gpt-audio-mini audio_output 0.1',
        '7 2024-11-01 web_search 1',
        '8 2024-11-01 evals | gpt-4o-mini-2024-07-18, input other 0.01',
        '9 2024-11-01 assistants api | file search other 0.02',
      ],
      faults: [],
    },
  )
  t.same((await all('openai-costs', openaiPage([cost(null, 0.06)]))).rows, ['1 2024-11-01 * 0.06'])
  t.same(
    await all(
      'openai-costs',
      'start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,quantity,quantity_unit,line_item\n' +
        '1790467200,1790553600,2026-09-27T00:00:00+00:00,2026-09-28T00:00:00+00:00,,,,,\n' +
        '1790553600,1790640000,2026-09-28T00:00:00,2026-09-29T00:00:00,0.003835980000000000000000000000,usd,1000,tokens,"gpt-5-nano, input"',
    ),
    { rows: ['3 2026-09-28 gpt-5-nano input=1000 0.00383598'], faults: [] },
  )
})

const anthropicPage = (results: readonly object[], ending_at = '2026-08-02T00:00:00Z') =>
  JSON.stringify({
    data: [{ starting_at: '2026-08-01T00:00:00Z', ending_at, results }],
    has_more: false,
    next_page: null,
  })

t.test("Anthropic's usage and cost reports", async (t) => {
  const usage = {
    uncached_input_tokens: 1_500,
    cache_creation: { ephemeral_1h_input_tokens: 1_000, ephemeral_5m_input_tokens: 500 },
    cache_read_input_tokens: 200,
    output_tokens: 700,
    server_tool_use: { web_search_requests: 10 },
    model: 'claude-haiku-4-5-20251001',
    workspace_id: null,
  }
  t.same(await all('anthropic-usage', anthropicPage([usage])), {
    rows: [
      '1 2026-08-01 claude-haiku-4-5-20251001 input=1500',
      '1 2026-08-01 claude-haiku-4-5-20251001 cached_input=200',
      '1 2026-08-01 claude-haiku-4-5-20251001 cache_write_5m=500',
      '1 2026-08-01 claude-haiku-4-5-20251001 cache_write_1h=1000',
      '1 2026-08-01 claude-haiku-4-5-20251001 output=700',
      '1 2026-08-01 claude-haiku-4-5-20251001 web_search=10',
    ],
    faults: [],
  })
  const cost = { currency: 'USD', amount: '123.78912', cost_type: 'tokens', model: 'claude-sonnet-5' }
  t.same(
    await all(
      'anthropic-cost',
      anthropicPage([
        { ...cost, token_type: 'uncached_input_tokens' },
        { ...cost, token_type: 'cache_creation.ephemeral_1h_input_tokens', amount: '0.5' },
        { ...cost, cost_type: 'web_search', token_type: null, model: null, amount: '12' },
      ]),
    ),
    {
      rows: [
        '1 2026-08-01 claude-sonnet-5 input 1.2378912',
        '2 2026-08-01 claude-sonnet-5 cache_write_1h 0.005',
        '3 2026-08-01 web_search 0.12',
      ],
      faults: [],
    },
    'amounts are cents',
  )
})

t.test("the video vendor's deductions", async (t) => {
  const task = (id: string, more: object) => ({
    task_id: `v-${id}`,
    task_info: { external_task_id: id },
    updated_at: 1_772_323_200_000,
    ...more,
  })
  t.same(
    await all(
      'vv-deductions',
      JSON.stringify({
        code: 0,
        data: [
          task('one', { task_status: 'succeed', final_unit_deduction: '4.5' }),
          task('two', { task_status: 'failed' }),
          { task_id: 'v-three', task_status: 'succeed', final_unit_deduction: 3 },
        ],
      }),
    ),
    {
      rows: ['1 task:one 2026-03-01 video=4500000000000', '3 task:v-three video=3000000000000'],
      faults: [],
    },
  )
  t.same(
    await all(
      'vv-deductions',
      'external_task_id,final_unit_deduction,time\none,4.5,2026-03-01T20:00:00Z\n',
      'Asia/Shanghai',
    ),
    {
      rows: ['2 task:one 2026-03-02 video=4500000000000'],
      faults: [],
    },
  )
  const [thirteen, sixtyFour] = ['0.1234567890125', `4.${'3'.repeat(64)}`]
  t.same(
    await all(
      'vv-deductions',
      `external_task_id,final_unit_deduction\none,${thirteen}\ntwo,${sixtyFour}\nthree,.5\nfour,1e1\n`,
    ),
    {
      rows: [
        '2 task:one video=123456789013',
        '3 task:two video=4333333333333',
        '4 task:three video=500000000000',
        '5 task:four video=10000000000000',
      ],
      faults: [],
    },
    'whatever the gateway charges for',
  )
})

t.test('the plain CSV of our own', async (t) => {
  t.same(
    await all(
      'csv',
      'provider,model,time,request_id,input,output,tool:web_search,amount\n' +
        'openai,gpt-5,2026-03-01T23:59:00-01:00,request-1,10,20,1,0.50\n' +
        'somebody,gpt-5,2026-03-01T23:59:00Z,request-2,10,20,1,0.5\n' +
        'openai,,,request-3,0,5,,1\n',
    ),
    {
      rows: [
        '2 request:request-1 2026-03-02 gpt-5 input=10+output=20+web_search=1 0.5',
        '4 request:request-3 output=5 1',
      ],
      faults: [],
    },
    'rows of others are passed over',
  )
  const { rows } = await read(
    'csv',
    'model,day,amount\na,2026-03-01,12.50\na,2026-03-01,1\na,2026-03-01,0.123456789012',
  )
  t.same(
    rows.map(({ roundingPicos }) => formatUsd(roundingPicos)),
    ['0.005', '0.005', '0'],
    'half of the last decimal, at most half a cent',
  )
})

t.test('the upstream request id of the plain CSV counts where a row has no request id', async (t) => {
  const { rows } = await read('csv', 'request_id,upstream_request_id,amount\nours,theirs,1\n,theirs,1\n')
  t.same(
    rows.map(({ subject }) => subject),
    [
      { kind: 'request', id: 'ours' },
      { kind: 'request', id: 'theirs', isUpstreamId: true },
    ],
  )
  t.same((await all('csv', 'task_id,upstream_request_id,amount\none,theirs,1\n')).faults, [
    '2: names a request and a task',
  ])
})

t.test('bad rows are all told, with their numbers', async (t) => {
  const faultsOf = async (format: FormatName, texts: InvoiceTexts) => (await all(format, texts)).faults
  t.same(
    await faultsOf(
      'csv',
      'model,day,input,amount\na,2026-03-01,1,x\na,2026-02-30,1,1\na,2026-03-01,-1,1\na,2026-03-01,1\na,2026-03-01,1.5,1\n,2026-03-01,1,1\na,2026-03-01,1,\na,2026-03-01,1,1',
    ),
    [
      '2: amount is no number: "x"',
      '3: day is no day such as 2026-03-31: "2026-02-30"',
      '4: input is no whole number of zero or more: "-1"',
      '5: has 3 columns, where the first line names 4',
      '6: input is no whole number of zero or more: "1.5"',
      '7: model is missing, and no request or task is named',
      '8: amount is missing',
    ],
  )
  t.match(await faultsOf('csv', 'model;day;amount\n'), [/^1: names one column: separate them by commas/])
  t.same(await faultsOf('csv', 'model,day,tokens,amount\n'), ['1: names columns that are not known: tokens'])
  t.same(await faultsOf('csv', 'model,day\na,2026-03-01'), ['1: names neither an amount nor a quantity'])
  t.same(await faultsOf('csv', 'model,day,day,amount\n'), ['1: names the column day twice'])
  t.same(await faultsOf('csv', 'model,day,amount\na,2026-03-01,"1\nb'), [
    '2: has quotes that do not match, in column 3',
  ])
  const task = (updated_at: number) => ({ task_id: 'a', final_unit_deduction: '1', updated_at })
  const times = [1_772_323_200_000, 1_772_323_200_000_000].map(task)
  const nanoseconds = '{"task_id":"b","final_unit_deduction":"1","updated_at":1772323200000000000}'
  t.match(await faultsOf('vv-deductions', `{"data":[${times.map((each) => JSON.stringify(each))},${nanoseconds}]}`), [
    /^2: has an invalid time/,
    /^3: has an invalid time/,
  ])
  t.match(
    await faultsOf(
      'openai-usage',
      openaiPage([completions]).replace('1730419200', '1730419200000000').replace('1730505600', '1730505600000000'),
    ),
    [/^1: has an invalid time/],
  )
  const amounts = ['-0.01', '1000000000000000', '999999999999999.999999999999', '0']
  t.same(
    await faultsOf('csv', ['request_id,amount', ...amounts.map((amount, place) => `r${place},${amount}`)].join('\n')),
    ['2: amount is below zero, for one request or task', '3: amount has more than 15 whole digits'],
  )
  t.same(await faultsOf('csv', 'model,day,amount\na,2026-03-01,-1'), [], 'a day may have a credit')
  t.same(await faultsOf('csv', ''), ['0: is empty'])
  t.same(await faultsOf('csv', [Buffer.from('model,day,amount\né,2026-03-01,1', 'latin1')]), ['0: is no text in UTF-8'])
  t.same(await faultsOf('csv', [Buffer.from('model,day,amount\na,2026-03-01,1é').subarray(0, -1)]), [
    '0: is no text in UTF-8',
  ])
  t.same(await faultsOf('csv', ['model,day,amount\n', 'model,day,input\n']), [
    '1: has other columns than the files before it',
  ])
  t.same(
    await faultsOf(
      'openai-usage',
      openaiPage([
        { ...completions, input_tokens: '12x' },
        { ...completions, input_cached_tokens: 9_000 },
        { object: 'organization.usage.dreams.result' },
        completions,
      ]),
    ),
    [
      '1: input_tokens is no number: "12x"',
      '2: input_tokens is less than the sum of its parts',
      '3: is not a known result of a usage report: organization.usage.dreams.result',
    ],
  )
  t.same(await faultsOf('openai-costs', openaiPage([{ amount: { value: 1, currency: 'eur' } }, { amount: {} }])), [
    '1: the currency is "eur"; only USD is compared',
    '2: its amount is missing',
  ])
  t.same(await faultsOf('openai-usage', openaiPage([], { has_more: true })), [
    '0: its last page announces more pages: give all of them, in their order',
  ])
  t.same(await faultsOf('openai-usage', [openaiPage([], { has_more: true }), openaiPage([])]), [])
  t.same(await faultsOf('openai-usage', '{"data":[{"start_time":1,'), ['1: the file ends in the middle of a page'])
  t.same(await faultsOf('openai-usage', '{"error":{"message":"no"}}'), [
    '1: a page has no `data`: it is no page of a report',
  ])
  t.same(await faultsOf('openai-usage', '[1]'), ['1: the file holds something else than pages of a report'])
  t.same(await faultsOf('openai-usage', '[]'), ['1: the file holds no page of a report'])
  for (const [broken, byte] of [
    ['{"data":[]}}', 10],
    ['{"data":[],}', 10],
    ['{"data":[x]}', 8],
    ['{"data":[01]}', 9],
    [`{"${'é'.repeat(60)}":-1.50, "data":["a" 1]}`, 139],
  ] as const)
    t.same(await faultsOf('openai-usage', broken), [`1: is no JSON after what begins at byte ${byte}`])
  t.same(await faultsOf('openai-usage', 'model,input_tokens\n'), ['1: the column start_time and end_time is missing'])
  t.same(await faultsOf('anthropic-usage', anthropicPage([{ output_tokens: 1 }])), [
    '1: uncached_input_tokens is missing',
  ])
  t.same(await faultsOf('anthropic-cost', anthropicPage([{ amount: '1', cost_type: 'tokens', token_type: 'x' }])), [
    '1: its token_type is not known: x',
  ])
  t.same(
    await faultsOf('anthropic-cost', anthropicPage([{ amount: '1' }], '2026-08-03T00:00:00Z')),
    ['1: its period reaches from 2026-08-01 to 2026-08-02'],
    'a row belongs to one day',
  )
  t.same(
    await faultsOf(
      'vv-deductions',
      JSON.stringify({
        data: [
          { task_id: 'a', task_status: 'succeed' },
          ...['-1', '1234567890', `0.${'3'.repeat(65)}`, '1'].map((units) => ({ final_unit_deduction: units })),
        ],
      }),
    ),
    [
      '1: final_unit_deduction is missing',
      '2: final_unit_deduction is no quantity: "-1"',
      '3: final_unit_deduction is no quantity: "1234567890"',
      `4: final_unit_deduction is no quantity: "0.${'3'.repeat(58)}"`,
      '5: has neither external_task_id nor task_id',
    ],
  )
})

t.test('a row of the plain CSV is left out where it names another provider', async (t) => {
  const rows = ['openai', 'OpenAI', '', 'anthropic'].map((provider, place) => `${provider},r-${place},1`)
  const { rows: kept, faults } = await all('csv', ['provider,request_id,amount', ...rows].join('\n'))
  t.same(faults, [])
  t.same(kept, ['2 request:r-0 1', '3 request:r-1 1', '4 request:r-2 1'])
})

t.test('the digest is of the bytes that were read as rows', async (t) => {
  const csv = Buffer.from('\uFEFFprovider,model,time,request_id,amount\nopenai,m,2026-03-01T00:00:00Z,r-1,1\n\n')
  const json = Buffer.from(`\n{"object":"page","data":[${' '.repeat(300)}],"has_more":false}\n \n`)
  const sha256 = (...parts: readonly Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest('hex')
  t.match(await read('csv', [csv, csv]), { faults: [], digest: sha256(csv, csv) })
  t.match(await read('openai-usage', [json]), { faults: [], digest: sha256(json) })
})
