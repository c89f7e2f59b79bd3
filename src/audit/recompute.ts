import { formatUsd, parseUsd } from '../domain/money.ts'
import { chargeFor } from '../domain/pricing/charge.ts'
import { chargeTask, isUnits, unitsPicosRoundingHalfUp } from '../domain/video/settle.ts'
import type {
  ChargeLine,
  PricePublished,
  TaskChargeLine,
  TaskOrder,
  TaskSettled,
  UsageRecorded,
} from '../events/types.ts'

/** A charge computed again by whoever reads it, and what came out otherwise. */
export interface Recomputed {
  /** Null where the sheet is not there to compute from. */
  readonly equal: boolean | null
  /** USD; null where it cannot be computed. */
  readonly total: string | null
  /** What the event says beyond that, USD. */
  readonly difference: string | null
  /** Each figure that is not what it must be, in words. */
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

/** What does not add up in the bill by itself. */
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

/** Lines that one side has and the other has not. */
const compareLines = (told: readonly Line[], computed: readonly Line[]): readonly string[] => {
  const [toldTexts, computedTexts] = [told.map(lineText), computed.map(lineText)]
  return [
    ...toldTexts.filter((text) => !computedTexts.includes(text)).map((text) => `the bill has ${text}`),
    ...computedTexts.filter((text) => !toldTexts.includes(text)).map((text) => `the price sheet gives ${text}`),
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

/** The bill of a request from its usage and the price sheet that it names. */
export const recomputeRequest = (
  { lines, total, usage, priceVersion }: Pick<UsageRecorded, 'lines' | 'total' | 'usage' | 'priceVersion'>,
  published: PricePublished | null,
): Recomputed => {
  const told = lines.map(requestLine)
  const slips = findArithmeticErrors(told, total, ({ quantity, unitPrice }) => BigInt(quantity) * parseUsd(unitPrice))
  if (published?.sheet === undefined)
    return recomputeWithoutSheet(`no price sheet ${priceVersion} was published`, slips)
  const computed = chargeFor(published.sheet, usage)
  return outcomeOf(total, computed.totalPicos, [...slips, ...compareLines(told, computed.lines.map(requestLine))])
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

/** The bill of a task from the vendor's word and the unit price of its hold. */
export const recomputeTask = (
  settled: Pick<TaskSettled, 'outcome' | 'deduction' | 'lines' | 'total'>,
  order: TaskOrder,
  published: PricePublished | null,
): Recomputed => {
  const { outcome, deduction = null, lines, total } = settled
  const told = lines.map(taskLine)
  const slips = findArithmeticErrors(told, total, unitsProduct)
  if (published === null) return recomputeWithoutSheet(`no price sheet ${order.priceVersion} was published`, slips)
  const verdict = { outcome, deduction, vendorTaskId: null, failReason: null, vendorCode: null, results: [] }
  const computed = chargeTask(order, verdict)
  const findings = [...slips, ...compareLines(told, computed.lines.map(taskLine)), ...checkUnitPrice(order, published)]
  return outcomeOf(total, computed.totalPicos, findings)
}
