import { isObject } from '../../encoding/json.ts'
import { type DayFormatter, instantMs, isDay } from './days.ts'
import {
  type FormatOptions,
  type InvoiceLayout,
  type InvoiceReader,
  LineReader,
  PageReader,
  type ReadRow,
} from './format.ts'
import { keepUngrouped } from './items.ts'
import { countAt, type Fields, objectAt, RowProblem, textAt, unitsAt } from './record.ts'
import { type RowSubject, videoItem } from './row.ts'

const layout: InvoiceLayout = {
  byItem: false,
  hasAmounts: false,
  hasQuantities: true,
  groupOf: keepUngrouped,
  mayRepeat: true,
  hasUpstreamIds: true,
  name: 'vv-deductions',
}

const deductionColumn = 'final_unit_deduction'

/** A task that was not submitted with our id has only the vendor's own. */
const subjectOf = (ourId: string | null, vendorId: string | null): RowSubject => {
  if (ourId !== null) return { kind: 'task', id: ourId }
  if (vendorId === null) throw new RowProblem('has neither external_task_id nor task_id')
  return { kind: 'task', id: vendorId, isUpstreamId: true }
}

const rowOf = (subject: RowSubject, units: bigint, day: string | null): readonly ReadRow[] => [
  {
    subject,
    day,
    model: null,
    item: null,
    quantities: [[videoItem, units]],
    amountPicos: null,
    roundingPicos: 0n,
  },
]

const dayOfMs = (ms: bigint | null, dayOf: DayFormatter): string | null => (ms === null ? null : dayOf(Number(ms)))

/** A task that has not ended, or failed, has no deduction; one that succeeded must have one. */
const taskRows = (fields: Fields, dayOf: DayFormatter): readonly ReadRow[] => {
  const units = unitsAt(fields, deductionColumn)
  const status = textAt(fields, 'task_status')
  if (units === null && status !== null && status !== 'succeed') return []
  if (units === null) throw new RowProblem(`${deductionColumn} is missing`)
  const subject = subjectOf(textAt(objectAt(fields, 'task_info'), 'external_task_id'), textAt(fields, 'task_id'))
  return rowOf(subject, units, dayOfMs(countAt(fields, 'updated_at') ?? countAt(fields, 'created_at'), dayOf))
}

/** Accepts a day, an instant, or milliseconds since the epoch. */
const dayOfText = (text: string, dayOf: DayFormatter): string => {
  if (isDay(text)) return text
  const ms = /^\d{12,14}$/.test(text) ? Number(text) : instantMs(text)
  if (Number.isNaN(ms)) throw new RowProblem(`is neither a day nor an instant: ${JSON.stringify(text.slice(0, 60))}`)
  return dayOf(ms)
}

const timeColumns = ['day', 'time', 'updated_at', 'created_at']

const lineRows = (fields: Fields, dayOf: DayFormatter): readonly ReadRow[] => {
  const units = unitsAt(fields, deductionColumn)
  if (units === null) throw new RowProblem(`${deductionColumn} is missing`)
  const time = timeColumns.map((name) => textAt(fields, name)).find((text) => text !== null)
  const subject = subjectOf(textAt(fields, 'external_task_id'), textAt(fields, 'task_id'))
  return rowOf(subject, units, time === undefined ? null : dayOfText(time, dayOf))
}

/** The vendor's deductions by task: the pages of its task lists, or a CSV file of the same fields. */
export const vvDeductions = (file: number, isJson: boolean, { dayOf }: FormatOptions): InvoiceReader =>
  isJson
    ? new PageReader(file, layout, (element) => [
        () => {
          if (!isObject(element)) throw new RowProblem('is no task')
          return taskRows(element, dayOf)
        },
      ])
    : new LineReader(file, (columns) => {
        if (!columns.includes(deductionColumn)) throw new RowProblem(`the column ${deductionColumn} is missing`)
        if (!columns.includes('external_task_id')) throw new RowProblem('the column external_task_id is missing')
        return { layout, read: (fields) => lineRows(fields, dayOf) }
      })
