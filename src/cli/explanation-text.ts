import type {
  ExplainedCharge,
  ExplainedEvent,
  ExplainedMovement,
  ExplainedPrice,
  ExplainedUsage,
  Explanation,
  RequestExplanation,
  TaskExplanation,
} from '../audit/explanation.ts'
import { alignColumns } from './report.ts'

type Section = readonly [title: string, lines: readonly string[]]

const controls = /\p{Cc}/u

/** For text from outside: a terminal must not obey its control characters. */
export const escapeControls = (text: string): string => (controls.test(text) ? JSON.stringify(text) : text)

const listed = (rates: Readonly<Record<string, string | number>>): string =>
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
  return [['charge', [...alignColumns([...rows, ['total', '', `= ${charge.total} USD`]]), ...recomputedLines(charge)]]]
}

const scopeOf = ({ service_tier, region_multiplier, prompt_tokens_above }: ExplainedPrice): string => {
  const scopes = [
    ...(service_tier === undefined ? [] : [`of the service tier ${service_tier}`]),
    ...(prompt_tokens_above === null ? [] : [`of prompts above ${prompt_tokens_above} tokens`]),
    ...(region_multiplier === undefined ? [] : [`× ${region_multiplier} for the region`]),
  ]
  return scopes.length === 0 ? '' : ` (${scopes.join(', ')})`
}

const unpricedLines = ({ unpriced }: ExplainedPrice): readonly string[] =>
  unpriced === undefined
    ? []
    : [`served with ${listed({ ...unpriced })}, which the sheet has no price for: charged as the standard one`]

/** A dated snapshot is charged at the price of its model where it has none of its own. */
const snapshotLines = ({ model }: ExplainedPrice, servedModel: string | null): readonly string[] =>
  servedModel === null || servedModel === model
    ? []
    : [`${escapeControls(servedModel)} is charged at the price of ${model}`]

const priceSection = (price: ExplainedPrice | null, servedModel: string | null = null): readonly Section[] => {
  if (price === null) return []
  const { version, effective_from, source, sequence, per_million_tokens, per_call, unit_price } = price
  return [
    [
      'price',
      [
        `${price.model}, sheet ${version}, in force from ${effective_from}, published in frame ${sequence}`,
        `source: ${escapeControls(source)}`,
        ...(per_million_tokens === null
          ? []
          : [`USD per million tokens${scopeOf(price)}: ${listed({ ...per_million_tokens })}`]),
        ...(Object.keys(per_call).length === 0 ? [] : [`USD per call: ${listed(per_call)}`]),
        ...(unit_price === null ? [] : [`USD per unit: ${unit_price}`]),
        ...snapshotLines(price, servedModel),
        ...unpricedLines(price),
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
  counts ? type : `${type} (ignored: came after the end)`,
  sealed_by === null ? 'not sealed yet' : `sealed by checkpoint ${sealed_by}`,
]

const proofLines = ({ proof }: Explanation): readonly string[] =>
  proof.checkpoint === null
    ? [`frame ${proof.sequence} is not sealed yet`]
    : [
        `frame ${proof.sequence} is sealed by the checkpoint of size ${proof.checkpoint.size}, in frame ${proof.checkpoint.sequence}`,
        `${proof.command} makes a proof of it`,
      ]

const endSections = (explanation: Explanation): readonly Section[] => [
  ['wallet', alignColumns(explanation.wallet.map(movementRow))],
  [
    'adjusted',
    explanation.adjustments.map(
      ({ amount, reason, at, sequence, note }) =>
        `${amount} USD, ${reason}, at ${at}, in frame ${sequence}${note === '' ? '' : `: ${escapeControls(note)}`}`,
    ),
  ],
  ['events', alignColumns(explanation.events.map(eventRow))],
  ['proof', proofLines(explanation)],
]

const askedLines = ({ asked, ...explanation }: RequestExplanation): readonly string[] => {
  if (asked === null)
    return [`the log has the end of the request, and not yet the request; ${formatCaller(explanation)}`]
  const how = [
    `model ${escapeControls(asked.model)}`,
    ...(asked.router === null ? [] : [`router ${escapeControls(asked.router)}`]),
    asked.stream ? 'a stream' : 'a whole answer',
    ...(asked.output_cap === null
      ? []
      : [`at most ${asked.output_cap} output tokens, since the wallet pays for no more`]),
  ]
  return [`${asked.at} on ${asked.surface}, ${formatCaller(explanation)}`, how.join(', ')]
}

const planRows = ({ plan }: RequestExplanation): readonly string[] =>
  alignColumns(
    plan.map(({ model, provider, upstream_model, price_version }, place) => [
      `${place + 1}.`,
      escapeControls(model),
      `${escapeControls(upstream_model)} at ${escapeControls(provider)}`,
      `price sheet ${price_version}`,
    ]),
  )

const attemptRows = ({ attempts }: RequestExplanation): readonly string[] =>
  alignColumns(
    attempts.map(
      ({ model, provider, outcome, status, reason, duration_ms, deployment, upstream_request_id }, place) => [
        `${place + 1}.`,
        `${escapeControls(model)} at ${escapeControls([provider, ...(deployment === undefined ? [] : [deployment])].join('/'))}`,
        outcome,
        [status ?? '', escapeControls(reason ?? '')].join(' ').trim(),
        `${duration_ms} ms`,
        upstream_request_id === undefined ? '' : `request ${escapeControls(upstream_request_id)}`,
      ],
    ),
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
          `the reservation is released with the allowance ${allowance}, at that hold's own deadline at the latest: GET /v1/ledger/holds lists it until then`,
        ]),
  ]
}

const endedLines = (explanation: RequestExplanation, nowMs: number): readonly string[] => {
  const { ended } = explanation
  if (ended === null) return unendedLines(explanation, nowMs)
  if (ended.served === null) return [`${ended.at} with ${ended.status} ${escapeControls(ended.outcome)}`]
  const { level, model, provider } = ended.served
  return [
    `${ended.at}, ${ended.outcome}, by ${escapeControls(model)} at ${escapeControls(provider)}, level ${level} of the chain`,
  ]
}

const rateBases = { observed: "the model's last streams", default: 'the default of a model not observed yet' }

const estimateText = ({
  hidden_tokens,
  thinking_ms,
  tokens_per_minute,
  basis,
}: NonNullable<ExplainedUsage['estimate']>): string =>
  `of it ${hidden_tokens} tokens are estimated thinking that was not shown: ${thinking_ms} ms at ${tokens_per_minute} tokens a minute (${rateBases[basis]})`

const implausibleLine = ({ adjustments }: RequestExplanation): string =>
  adjustments.length === 0
    ? 'which cannot be: the reservation is charged until an operator confirms it'
    : 'which cannot be: the reservation was charged, and has been corrected since'

const usageLines = (explanation: RequestExplanation): readonly string[] => {
  const { usage } = explanation
  if (usage === null) return []
  const { source, tool_calls, service_tier, inference_geo, plausible, negative, estimate, ...tokens } = usage
  const counted = Object.entries({ ...tokens, ...tool_calls }).filter(([, count]) => count > 0)
  const served = [
    ...(service_tier === undefined ? [] : [`service tier ${service_tier}`]),
    ...(inference_geo === undefined ? [] : [`region ${inference_geo}`]),
  ]
  return [
    `${source}: ${[...counted.map(([what, count]) => `${what} ${count}`), ...served].join(', ') || 'nothing'}`,
    ...(negative === undefined ? [] : [`reported below zero, and counted as 0: ${listed(negative)}`]),
    ...(estimate === undefined ? [] : [estimateText(estimate)]),
    ...(plausible === false ? [implausibleLine(explanation)] : []),
  ]
}

const reservedLines = ({ reservation }: RequestExplanation): readonly string[] => {
  if (reservation === null) return []
  const { reserved, allowance, beyond } = reservation
  const of = allowance === null ? '' : ` of the allowance ${allowance}`
  return [`${reserved} USD${of}${beyond === '0' ? '' : `; the charge went ${beyond} USD beyond it`}`]
}

const requestSections = (explanation: RequestExplanation, nowMs: number): readonly Section[] => [
  ['asked', askedLines(explanation)],
  ['plan', planRows(explanation)],
  ['attempts', attemptRows(explanation)],
  ['ended', endedLines(explanation, nowMs)],
  ['usage', usageLines(explanation)],
  ...priceSection(explanation.price, explanation.ended?.served?.model ?? null),
  ...chargeSection(explanation.charge),
  ['reserved', reservedLines(explanation)],
]

const taskEndLines = ({ ended, hold }: TaskExplanation, nowMs: number): readonly string[] => {
  if (ended === null)
    return [
      isPast(hold.deadline, nowMs)
        ? `nothing; the hold's deadline was ${hold.deadline}, and a scheduler gives it back`
        : `nothing yet; the hold is released at ${hold.deadline}`,
    ]
  const { at, outcome, deduction, source, reason, given_back, beyond } = ended
  return [
    `${at}, ${outcome}${reason === null || reason === outcome ? '' : `: ${escapeControls(reason)}`}`,
    ...(source === null
      ? []
      : [`deducted by the vendor: ${escapeControls(deduction ?? 'not reported')} units (${source})`]),
    `given back: ${given_back} USD${beyond === '0' ? '' : `; the charge went ${beyond} USD beyond the hold`}`,
  ]
}

const taskSections = (explanation: TaskExplanation, nowMs: number): readonly Section[] => [
  [
    'asked',
    [
      `${explanation.asked.at} on ${explanation.asked.surface}, ${formatCaller(explanation)}`,
      `${explanation.asked.kind} by ${escapeControls(explanation.asked.model)}: ${escapeControls(explanation.asked.upstream_model)} at ${escapeControls(explanation.asked.provider)}`,
      ...(explanation.asked.external_task_id === null
        ? []
        : [`the caller's own id: ${escapeControls(explanation.asked.external_task_id)}`]),
    ],
  ],
  [
    'held',
    [
      `${explanation.hold.amount} USD: at most ${explanation.hold.units_max} units at ${explanation.hold.unit_price} USD`,
    ],
  ],
  [
    'submitted',
    explanation.submitted === null
      ? []
      : [`${explanation.submitted.at} as ${escapeControls(explanation.submitted.vendor_task_id)}`],
  ],
  ['progress', alignColumns(explanation.progress.map(({ at, status, percent }) => [at, status, `${percent} %`]))],
  ['ended', taskEndLines(explanation, nowMs)],
  ...priceSection(explanation.price),
  ...chargeSection(explanation.charge),
  [
    'late',
    explanation.late_verdicts.map(
      ({ at, sequence, outcome, cost }) =>
        `${at}, in frame ${sequence}: ${outcome}, which cost ${cost} USD and was not charged`,
    ),
  ],
]

/** For people, without what does not apply; `nowMs` decides which deadlines are past. */
export const explanationText = (explanation: Explanation, nowMs: number): string => {
  const story = explanation.kind === 'request' ? requestSections(explanation, nowMs) : taskSections(explanation, nowMs)
  const sections = [...story, ...endSections(explanation)]
  const width = Math.max(...sections.map(([title]) => title.length)) + 2
  const lines = sections.flatMap(([title, texts]) =>
    texts.map((text, place) => `${(place === 0 ? title : '').padEnd(width)}${text}`),
  )
  return [headline(explanation), '', ...lines].join('\n')
}
