import { formatUsd, parseUsd } from '../domain/money.ts'
import { chargeFor, chargeReservation } from '../domain/pricing/charge.ts'
import { chargeTask, isUnits, unitsPicosRoundingHalfUp } from '../domain/video/settle.ts'
import type {
  ChargeLine,
  PricePublished,
  TaskChargeLine,
  TaskOrder,
  TaskSettled,
  UsageRecorded,
} from '../events/types.ts'

export interface Recomputed {
  /** Null if the sheet is not available. */
  readonly equal: boolean | null
  /** USD; null if it cannot be computed. */
  readonly total: string | null
  /** The recorded total less this one, USD. */
  readonly difference: string | null
  readonly findings: readonly string[]
}

interface Line {
  readonly item: string
  readonly quantity: string
  readonly unitPrice: string
  readonly amountPicos: bigint
}

const lineText = ({ item, quantity, unitPrice, amountPicos }: Line): string =>
  `${item}: ${quantity} × ${unitPrice} = ${formatUsd(amountPicos)}`

const sumOf = (lines: readonly Line[]): bigint => lines.reduce((sum, { amountPicos }) => sum + amountPicos, 0n)

const findArithmeticErrors = (
  lines: readonly Line[],
  total: string,
  product: (line: Line) => bigint,
): readonly string[] => [
  ...lines
    .filter((line) => product(line) !== line.amountPicos)
    .map((line) => `${lineText(line)} is ${formatUsd(product(line))}`),
  ...(sumOf(lines) === parseUsd(total) ? [] : [`the lines add up to ${formatUsd(sumOf(lines))}, not to ${total}`]),
]

const compareLines = (recorded: readonly Line[], computed: readonly Line[]): readonly string[] => {
  const [recordedTexts, computedTexts] = [recorded.map(lineText), computed.map(lineText)]
  return [
    ...recordedTexts.filter((text) => !computedTexts.includes(text)).map((text) => `the bill has ${text}`),
    ...computedTexts.filter((text) => !recordedTexts.includes(text)).map((text) => `the price sheet gives ${text}`),
  ]
}

const outcomeOf = (total: string, computedPicos: bigint, findings: readonly string[]): Recomputed => {
  const differencePicos = parseUsd(total) - computedPicos
  return {
    equal: findings.length === 0 && differencePicos === 0n,
    total: formatUsd(computedPicos),
    difference: formatUsd(differencePicos),
    findings,
  }
}

const recomputeWithoutSheet = (what: string, slips: readonly string[]): Recomputed => ({
  equal: slips.length === 0 ? null : false,
  total: null,
  difference: null,
  findings: [...slips, what],
})

const requestLine = ({ item, quantity, unitPrice, amount }: ChargeLine): Line => ({
  item,
  quantity: String(quantity),
  unitPrice,
  amountPicos: parseUsd(amount),
})

export const recomputeRequest = (
  bill: Pick<UsageRecorded, 'lines' | 'total' | 'usage' | 'priceVersion' | 'plausible' | 'reserved'>,
  published: PricePublished | null,
): Recomputed => {
  const { lines, total, usage, priceVersion, plausible = true, reserved } = bill
  const recorded = lines.map(requestLine)
  const slips = findArithmeticErrors(
    recorded,
    total,
    ({ quantity, unitPrice }) => BigInt(quantity) * parseUsd(unitPrice),
  )
  if (published?.sheet === undefined)
    return recomputeWithoutSheet(`no price sheet ${priceVersion} was published`, slips)
  const computed = plausible ? chargeFor(published.sheet, usage) : chargeReservation(reserved)
  return outcomeOf(total, computed.totalPicos, [...slips, ...compareLines(recorded, computed.lines.map(requestLine))])
}

const taskLine = ({ item, quantity, unitPrice, amount }: TaskChargeLine): Line => ({
  item,
  quantity,
  unitPrice,
  amountPicos: parseUsd(amount),
})

const unitsProduct = ({ quantity, unitPrice, amountPicos }: Line): bigint =>
  isUnits(quantity) ? unitsPicosRoundingHalfUp(quantity, unitPrice) : amountPicos

const checkUnitPrice = ({ unitPrice, priceVersion }: TaskOrder, published: PricePublished): readonly string[] => {
  const asPublished = published.video?.unit_price
  return asPublished !== undefined && parseUsd(asPublished) === parseUsd(unitPrice)
    ? []
    : [`the unit price is ${unitPrice}, in the price sheet ${priceVersion} it is ${asPublished ?? 'not there'}`]
}

export const recomputeTask = (
  settled: Pick<TaskSettled, 'outcome' | 'deduction' | 'plausible' | 'lines' | 'total'>,
  order: TaskOrder,
  published: PricePublished | null,
): Recomputed => {
  const { outcome, deduction = null, plausible = true, lines, total } = settled
  const recorded = lines.map(taskLine)
  const slips = findArithmeticErrors(recorded, total, unitsProduct)
  if (published === null) return recomputeWithoutSheet(`no price sheet ${order.priceVersion} was published`, slips)
  const counting = plausible ? deduction : null
  const verdict = { outcome, deduction: counting, vendorTaskId: null, failReason: null, vendorCode: null, results: [] }
  const computed = chargeTask(order, verdict)
  const findings = [
    ...slips,
    ...compareLines(recorded, computed.lines.map(taskLine)),
    ...checkUnitPrice(order, published),
  ]
  return outcomeOf(total, computed.totalPicos, findings)
}
