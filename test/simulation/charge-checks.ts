import { parseUsd } from '../../src/domain/money.ts'
import type { EventOf } from '../../src/events/envelope.ts'
import type { PriceSheet } from '../../src/events/types.ts'

/** A charge is quantity × published price, that of a video as its vendor deducted. */
export class ChargeChecks {
  readonly #violate: (text: string) => void
  /** By model and version. */
  readonly #sheets = new Map<string, PriceSheet>()
  readonly #unitPrices = new Map<string, string>()

  constructor(violate: (text: string) => void) {
    this.#violate = violate
  }

  notePrice({ data }: EventOf<'PricePublished'>): void {
    const name = `${data.model} ${data.version}`
    if (data.sheet !== undefined) this.#sheets.set(name, data.sheet)
    if (data.video !== undefined) this.#unitPrices.set(name, data.video.unit_price)
  }

  /** A video holds its worst case. */
  checkHold({ data: { holdId, amount, task } }: EventOf<'HoldPlaced'>): void {
    if (task === undefined) return
    const worst = (parseUsd(task.unitsMax) * parseUsd(task.unitPrice)) / parseUsd('1')
    if (parseUsd(amount) !== worst) this.#violate(`task ${holdId} holds ${amount}, not ${worst} pico-dollars`)
  }

  checkTask(placed: EventOf<'HoldPlaced'>, { data }: EventOf<'TaskSettled'>): void {
    const { taskId, outcome, deduction, lines } = data
    const { model, priceVersion, unitPrice, unitsMax } = placed.data.task!
    if (this.#unitPrices.get(`${model} ${priceVersion}`) !== unitPrice)
      this.#violate(`task ${taskId} has the unit price ${unitPrice}, not as published`)
    const units = /^[\d.]+$/.test(deduction ?? '') ? parseUsd(deduction!) : null
    const isPlausible = units !== null && units <= 3n * parseUsd(unitsMax)
    const charged = isPlausible ? units : parseUsd(unitsMax)
    const expected = outcome === 'FAILURE' ? 0n : (charged * parseUsd(unitPrice)) / parseUsd('1')
    if (parseUsd(data.total) !== expected)
      this.#violate(`task ${taskId} is charged ${data.total} for ${deduction} units, not ${expected} pico-dollars`)
    const sum = lines.reduce((picos, { amount }) => picos + parseUsd(amount), 0n)
    if (sum !== parseUsd(data.total)) this.#violate(`the lines of ${taskId} are not its total`)
  }

  checkUsage({ data }: EventOf<'UsageRecorded'>): void {
    const sheet = this.#sheets.get(`${data.model} ${data.priceVersion}`)
    for (const { item, unitPrice } of data.lines)
      if (
        parseUsd(unitPrice) !==
        parseUsd(sheet?.per_million_tokens[item === 'output' ? 'output' : 'input'] ?? '0') / 1_000_000n
      )
        this.#violate(`request ${data.requestId} is charged ${unitPrice} for ${item}, not as published`)
    const sum = data.lines.reduce((picos, { amount }) => picos + parseUsd(amount), 0n)
    if (sum !== parseUsd(data.total)) this.#violate(`the lines of ${data.requestId} are not its total`)
    for (const { quantity, unitPrice, amount } of data.lines)
      if (BigInt(quantity) * parseUsd(unitPrice) !== parseUsd(amount))
        this.#violate(`a line of ${data.requestId} is not quantity × price`)
  }
}
