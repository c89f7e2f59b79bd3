import { isObject } from '../../encoding/json.ts'

const sorted = (_name: string, value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((name) => [name, value[name]]),
      )
    : value

/** Equal values give equal text, in whichever order their members were written. */
export const canonicalJson = (value: unknown): string => JSON.stringify(value, sorted)
