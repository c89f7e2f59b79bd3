import type { JsonObject } from '../encoding/json.ts'
import { GatewayError } from '../errors/gateway-error.ts'
import type { HttpContext } from './context.ts'

type Read<T> = (text: string) => T | undefined

export interface Parameter<T> {
  readonly read: Read<T>
  /** To be read after "must be": `a whole number from 1 to 1000`. */
  readonly form: string
  /** JSON Schema of its text, as far as it can be expressed. */
  readonly schema: JsonObject
}

export type QueryParameters = Readonly<Record<string, Parameter<unknown>>>

type QueryValues<Known extends QueryParameters> = {
  readonly [Name in keyof Known]: Known[Name] extends Parameter<infer T> ? T | undefined : never
}

const textMax = 200

const shown = (text: string): string => JSON.stringify(text.length > textMax ? `${text.slice(0, textMax)}…` : text)

export const invalidParameter = (name: string, form: string): GatewayError =>
  new GatewayError('invalid_value', `Invalid value for '${name}': it must be ${form}.`, { param: name })

const readOne = <T>(name: string, { read, form }: Parameter<T>, texts: readonly string[]): T | undefined => {
  const [text, ...others] = texts
  if (text === undefined) return undefined
  if (others.length > 0) throw new GatewayError('invalid_value', `'${name}' is given twice.`, { param: name })
  const value = read(text)
  if (value === undefined) throw invalidParameter(name, form)
  return value
}

/** Undefined for absent parameters. Throws `unsupported_parameter` or `invalid_value`. */
export const readQuery = <Known extends QueryParameters>(
  { querystring }: Pick<HttpContext, 'querystring'>,
  known: Known,
): QueryValues<Known> => {
  const given = new URLSearchParams(querystring)
  for (const name of given.keys())
    if (!Object.hasOwn(known, name))
      throw new GatewayError('unsupported_parameter', `Unknown query parameter: ${shown(name)}.`, {
        param: name.slice(0, textMax),
      })
  return Object.fromEntries(
    Object.entries(known).map(([name, parameter]) => [name, readOne(name, parameter, given.getAll(name))]),
  ) as QueryValues<Known>
}
