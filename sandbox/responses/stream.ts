import type { JsonObject } from '../../src/encoding/json.ts'
import { namedEvent, type Part, type ReportedUsage } from '../http/dialect.ts'
import { itemEvents } from './item-events.ts'
import type { Item } from './items.ts'

interface Stations {
  readonly begun: JsonObject
  readonly ended: JsonObject
  readonly reported: ReportedUsage | null
}

function* unnumbered({ begun }: Stations, items: readonly Item[]): Iterable<JsonObject> {
  yield { type: 'response.created', response: begun }
  yield { type: 'response.in_progress', response: begun }
  for (const [index, item] of items.entries()) yield* itemEvents(item, index)
}

export function* streamResponsesParts(stations: Stations, items: readonly Item[], isClosed: boolean): Iterable<Part> {
  let number = 0
  const numbered = (event: JsonObject): string => {
    number += 1
    return namedEvent({ ...event, sequence_number: number - 1 })
  }
  for (const event of unnumbered(stations, items)) yield { text: numbered(event), reported: null }
  const { ended, reported } = stations
  if (isClosed) yield { text: numbered({ type: `response.${ended['status']}`, response: ended }), reported }
}
