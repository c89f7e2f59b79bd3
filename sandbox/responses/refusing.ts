import { Refusal } from '../answers/faults.ts'

export const missing = (param: string): Refusal =>
  new Refusal(`Missing required parameter: '${param}'.`, { code: 'missing_required_parameter', param })

export const invalid = (param: string, value: unknown, supported: readonly string[]): Refusal =>
  new Refusal(
    `Invalid value: '${String(value)}'. Supported values are: ${supported.map((each) => `'${each}'`).join(', ')}.`,
    { code: 'invalid_value', param },
  )

export const wrongType = (param: string, expected: string): Refusal =>
  new Refusal(`Invalid type for '${param}': expected ${expected}.`, { code: 'invalid_type', param })
