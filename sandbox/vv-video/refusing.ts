import { Refusal } from '../answers/faults.ts'

export class VendorRefusal extends Error {
  readonly status: number
  readonly code: number
  readonly retryAfter: string | undefined

  constructor(code: number, message: string, status = statusOf(code), retryAfter?: string) {
    super(message)
    this.name = 'VendorRefusal'
    this.status = status
    this.code = code
    this.retryAfter = retryAfter
  }
}

const statuses: readonly (readonly [from: number, to: number, status: number])[] = [
  [1000, 1099, 401],
  [1100, 1102, 429],
  [1103, 1199, 403],
  [1200, 1201, 400],
  [1202, 1203, 404],
  [1300, 1301, 400],
  [1302, 1399, 429],
  [5001, 5001, 503],
  [5002, 5002, 504],
]

export const statusOf = (code: number): number =>
  statuses.find(([from, to]) => code >= from && code <= to)?.[2] ?? (code >= 5000 ? 500 : 400)

const codes: { readonly [status: number]: number } = {
  401: 1002,
  403: 1103,
  404: 1203,
  429: 1302,
  500: 5000,
  503: 5001,
  504: 5002,
}

export const codeOf = (status: number): number => codes[status] ?? (status >= 500 ? 5000 : 1200)

export const badParameter = (message: string): VendorRefusal => new VendorRefusal(1201, message)

/** Turns any refusal of the sandbox into the vendor's format. */
export const asVendorRefusal = (error: unknown): VendorRefusal => {
  if (error instanceof VendorRefusal) return error
  if (error instanceof Refusal) return new VendorRefusal(codeOf(error.fault.status), error.message, error.fault.status)
  throw error
}
