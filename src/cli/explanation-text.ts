import type {
  ExplainedCharge,
  ExplainedEvent,
  ExplainedMovement,
  ExplainedPrice,
  Explanation,
  RequestExplanation,
  TaskExplanation,
} from '../audit/explanation.ts'

type Section = readonly [title: string, lines: readonly string[]]

const controls = /\p{Cc}/u

/** For text from outside: a terminal must not obey its control characters. */
export const escapeControls = (text: string): string => (controls.test(text) ? JSON.stringify(text) : text)

const aligned = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}

const listed = (rates: Readonly<Record<string, string>>): string =>
  Object.entries(rates)
    .map(([item, rate]) => `${item} ${rate}`)
    .join(', ')

const states: { readonly [S in Explanation['state']]: string } = {
  open: 'is still open',
  charged: 'was charged',
  failed: 'failed, and cost nothing',
  given_back: 'ended without a verdict, and cost nothing',
}

const headline = ({ kind, id, state, charge, net, adjustments }: Explanation): string => {
  const amount = state === 'charged' ? ` with ${charge?.total} USD` : ''
  const left = adjustments.length > 0 ? `, ${net} USD after its adjustments` : ''
  return `${kind} ${id} ${states[state]}${amount}${left}`
}

const formatCaller = ({ workspace, key }: Pick<Explanation, 'workspace' | 'key'>): string => {
  const name = key.name === null ? '' : ` "${escapeControls(key.name)}" (${escapeControls(key.prefix ?? '')})`
  return `workspace ${workspace}, key ${key.id}${name}`
}

const recomputedLines = ({ recomputed }: ExplainedCharge): readonly string[] => {
  const { equal, total, difference, findings } = recomputed
  if (equal === true) return ['recomputed: equal']
  const outcome =
    total === null ? 'recomputed: not possible' : `recomputed: ${total} USD, a difference of ${difference}`
  return [outcome, ...findings.map((finding) => `  ${escapeControls(finding)}`)]
}

const chargeSection = (charge: ExplainedCharge | null): readonly Section[] => {
  if (charge === null) return []
  const rows = charge.lines.map(({ item, quantity, unit_price, amount }) => [
    item,
    `${quantity} × ${unit_price}`,
    `= ${amount}`,
  ])
  return [['charge', [...aligned([...rows, ['total', '', `= ${charge.total} USD`]]), ...recomputedLines(charge)]]]
}

const priceSection = (price: ExplainedPrice | null): readonly Section[] => {
  if (price === null) return []
  const { version, effective_from, source, sequence, per_million_tokens, prompt_tokens_above, per_call, unit_price } =
    price
  const tier = prompt_tokens_above === null ? '' : ` (of prompts above ${prompt_tokens_above} tokens)`
  return [
    [
      'price',
      [
        `${price.model}, sheet ${version}, in force from ${effective_from}, published in frame ${sequence}`,
        `source: ${escapeControls(source)}`,
        ...(per_million_tokens === null ? [] : [`USD per million tokens${tier}: ${listed({ ...per_million_tokens })}`]),
        ...(Object.keys(per_call).length === 0 ? [] : [`USD per call: ${listed(per_call)}`]),
        ...(unit_price === null ? [] : [`USD per unit: ${unit_price}`]),
      ],
    ],
  ]
}

const movementRow = (moved: ExplainedMovement): readonly string[] => [
  `frame ${moved.sequence}.${moved.event_index}`,
  moved.kind,
  `balance ${moved.balance_before} → ${moved.balance_after}`,
  `held ${moved.held_before} → ${moved.held_after}`,
]

const eventRow = ({ sequence, event_index, at, type, counts, sealed_by }: ExplainedEvent): readonly string[] => [
  `frame ${sequence}.${event_index}`,
  at,
  counts ? type : `${type} (came when all was said)`,
  sealed_by === null ? 'not sealed yet' : `sealed by checkpoint ${sealed_by}`,
]

const proofLines = ({ proof }: Explanation): readonly string[] =>
  proof.checkpoint === null
    ? [`frame ${proof.sequence} is not sealed yet`]
    : [
        `frame ${proof.sequence} is sealed by the checkpoint of size ${proof.checkpoint.size}, in frame ${proof.checkpoint.sequence}`,
        `${proof.command} makes a proof of it`,
      ]

const endSections = (told: Explanation): readonly Section[] => [
  ['wallet', aligned(told.wallet.map(movementRow))],
  [
    'adjusted',
    told.adjustments.map(
      ({ amount, reason, at, sequence, note }) =>
        `${amount} USD, ${reason}, at ${at}, in frame ${sequence}${note === '' ? '' : `: ${escapeControls(note)}`}`,
    ),
  ],
  ['events', aligned(told.events.map(eventRow))],
  ['proof', proofLines(told)],
]

const askedLines = ({ asked, ...told }: RequestExplanation): readonly string[] => {
  if (asked === null) return [`the log has how it ended, and not yet what was asked; ${formatCaller(told)}`]
  const how = [
    `model ${escapeControls(asked.model)}`,
    ...(asked.router === null ? [] : [`router ${escapeControls(asked.router)}`]),
    asked.stream ? 'a stream' : 'a whole answer',
    ...(asked.output_cap === null
      ? []
      : [`at most ${asked.output_cap} output tokens, since the wallet pays for no more`]),
  ]
  return [`${asked.at} on ${asked.surface}, ${formatCaller(told)}`, how.join(', ')]
}

const planRows = ({ plan }: RequestExplanation): readonly string[] =>
  aligned(
    plan.map(({ model, provider, upstream_model, price_version }, place) => [
      `${place + 1}.`,
      escapeControls(model),
      `${escapeControls(upstream_model)} at ${escapeControls(provider)}`,
      `price sheet ${price_version}`,
    ]),
  )

const attemptRows = ({ attempts }: RequestExplanation): readonly string[] =>
  aligned(
    attempts.map(({ model, provider, outcome, status, reason, duration_ms }, place) => [
      `${place + 1}.`,
      `${escapeControls(model)} at ${escapeControls(provider)}`,
      outcome,
      [status ?? '', escapeControls(reason ?? '')].join(' ').trim(),
      `${duration_ms} ms`,
    ]),
  )

const isPast = (instant: string, nowMs: number): boolean => Date.parse(instant) < nowMs

/** The proxy may have died: no end was logged, and perhaps none will be. */
const unendedLines = ({ asked, reservation }: RequestExplanation, nowMs: number): readonly string[] => {
  const deadline = asked?.deadline ?? ''
  if (!isPast(deadline, nowMs)) return [`nothing yet; the proxy gives up at ${deadline}`]
  const allowance = reservation?.allowance ?? null
  return [
    `nothing; the time of its proxy ended at ${deadline}, and no end has come`,
    ...(allowance === null
      ? []
      : [
          `what was set aside goes back with the allowance ${allowance}, at that hold's own deadline at the latest: GET /v1/ledger/holds lists it until then`,
        ]),
  ]
}

const endedLines = (told: RequestExplanation, nowMs: number): readonly string[] => {
  const { ended } = told
  if (ended === null) return unendedLines(told, nowMs)
  if (ended.served === null) return [`${ended.at} with ${ended.status} ${escapeControls(ended.outcome)}`]
  const { level, model, provider } = ended.served
  return [
    `${ended.at}, ${ended.outcome}, by ${escapeControls(model)} at ${escapeControls(provider)}, level ${level} of the chain`,
  ]
}

const usageLines = ({ usage }: RequestExplanation): readonly string[] => {
  if (usage === null) return []
  const { source, tool_calls, ...tokens } = usage
  const counted = Object.entries({ ...tokens, ...tool_calls }).filter(([, count]) => count > 0)
  return [`${source}: ${counted.map(([what, count]) => `${what} ${count}`).join(', ') || 'nothing'}`]
}

const reservedLines = ({ reservation }: RequestExplanation): readonly string[] => {
  if (reservation === null) return []
  const { reserved, allowance, beyond } = reservation
  const of = allowance === null ? '' : ` of the allowance ${allowance}`
  return [`${reserved} USD${of}${beyond === '0' ? '' : `; the charge went ${beyond} USD beyond it`}`]
}

const requestSections = (told: RequestExplanation, nowMs: number): readonly Section[] => [
  ['asked', askedLines(told)],
  ['plan', planRows(told)],
  ['attempts', attemptRows(told)],
  ['ended', endedLines(told, nowMs)],
  ['usage', usageLines(told)],
  ...priceSection(told.price),
  ...chargeSection(told.charge),
  ['reserved', reservedLines(told)],
]

const taskEndLines = ({ ended, hold }: TaskExplanation, nowMs: number): readonly string[] => {
  if (ended === null)
    return [
      isPast(hold.deadline, nowMs)
        ? `nothing; the hold's deadline was ${hold.deadline}, and a scheduler gives it back`
        : `nothing yet; the hold goes back at ${hold.deadline}`,
    ]
  const { at, outcome, deduction, source, reason, given_back, beyond } = ended
  return [
    `${at}, ${outcome}${reason === null || reason === outcome ? '' : `: ${escapeControls(reason)}`}`,
    ...(source === null
      ? []
      : [`deducted by the vendor: ${escapeControls(deduction ?? 'not told')} units (${source})`]),
    `given back: ${given_back} USD${beyond === '0' ? '' : `; the charge went ${beyond} USD beyond the hold`}`,
  ]
}

const taskSections = (told: TaskExplanation, nowMs: number): readonly Section[] => [
  [
    'asked',
    [
      `${told.asked.at} on ${told.asked.surface}, ${formatCaller(told)}`,
      `${told.asked.kind} by ${escapeControls(told.asked.model)}: ${escapeControls(told.asked.upstream_model)} at ${escapeControls(told.asked.provider)}`,
      ...(told.asked.external_task_id === null
        ? []
        : [`the caller's own id: ${escapeControls(told.asked.external_task_id)}`]),
    ],
  ],
  ['held', [`${told.hold.amount} USD: at most ${told.hold.units_max} units at ${told.hold.unit_price} USD`]],
  [
    'submitted',
    told.submitted === null ? [] : [`${told.submitted.at} as ${escapeControls(told.submitted.vendor_task_id)}`],
  ],
  ['progress', aligned(told.progress.map(({ at, status, percent }) => [at, status, `${percent} %`]))],
  ['ended', taskEndLines(told, nowMs)],
  ...priceSection(told.price),
  ...chargeSection(told.charge),
  [
    'late',
    told.late_verdicts.map(
      ({ at, sequence, outcome, cost }) =>
        `${at}, in frame ${sequence}: ${outcome}, which cost ${cost} USD and was charged to nobody`,
    ),
  ],
]

/** For people, without what does not apply; `nowMs` decides which deadlines are past. */
export const explanationText = (told: Explanation, nowMs: number): string => {
  const story = told.kind === 'request' ? requestSections(told, nowMs) : taskSections(told, nowMs)
  const sections = [...story, ...endSections(told)]
  const width = Math.max(...sections.map(([title]) => title.length)) + 2
  const lines = sections.flatMap(([title, texts]) =>
    texts.map((text, place) => `${(place === 0 ? title : '').padEnd(width)}${text}`),
  )
  return [headline(told), '', ...lines].join('\n')
}
