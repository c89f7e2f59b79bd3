import { asArray, asObject, isObject, type JsonObject } from '../../src/encoding/json.ts'

export interface Place {
  readonly path: readonly (string | number)[]
  readonly schema: JsonObject
}

const listKeys = ['anyOf', 'allOf', 'oneOf', 'prefixItems']
const mapKeys = ['properties', '$defs', 'definitions']

const childrenOf = ({ path, schema }: Place): readonly Place[] =>
  [
    ...mapKeys.flatMap((key) =>
      Object.entries(asObject(schema[key])).map(([name, child]) => ({ path: [...path, key, name], child })),
    ),
    ...listKeys.flatMap((key) => asArray(schema[key]).map((child, index) => ({ path: [...path, key, index], child }))),
    { path: [...path, 'items'], child: schema['items'] },
  ].flatMap(({ path, child }) => (isObject(child) ? [{ path, schema: child }] : []))

export function* placesIn(schema: unknown): Iterable<Place> {
  if (!isObject(schema)) return
  const waiting: Place[] = [{ path: [], schema }]
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    yield place
    waiting.push(...childrenOf(place).toReversed())
  }
}

export const openObjectIn = (schema: unknown): Place | undefined => {
  for (const place of placesIn(schema))
    if (place.schema['type'] === 'object' && place.schema['additionalProperties'] !== false) return place
  return undefined
}
