import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { asObject, type JsonObject, parseJson } from '../../src/encoding/json.ts'
import { VendorRefusal } from './refusing.ts'

export const sandboxVideoKey = 'sandbox'

const invalid = (): VendorRefusal => new VendorRefusal(1002, 'Authorization is invalid')

const decoded = (part: string): JsonObject => asObject(parseJson(Buffer.from(part, 'base64url').toString()))

const isSigned = (signed: string, signature: string): boolean => {
  const expected = createHmac('sha256', sandboxVideoKey).update(signed).digest()
  const given = Buffer.from(signature, 'base64url')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

const checkTimes = ({ exp, nbf }: JsonObject, nowSeconds: number): void => {
  if (typeof exp !== 'number') throw invalid()
  if (exp <= nowSeconds) throw new VendorRefusal(1004, 'Authorization has expired')
  if (typeof nbf === 'number' && nbf > nowSeconds) throw new VendorRefusal(1003, 'Authorization is not yet valid')
}

const checkToken = (token: string, nowSeconds: number): void => {
  const [head = '', claims = '', signature = '', ...more] = token.split('.')
  if (more.length > 0 || decoded(head)['alg'] !== 'HS256') throw new VendorRefusal(1000, 'Authentication failed')
  const claimed = decoded(claims)
  if (claimed['iss'] !== sandboxVideoKey || !isSigned(`${head}.${claims}`, signature)) throw invalid()
  checkTimes(claimed, nowSeconds)
}

/** Takes the API key, or a JWT signed with the pair; throws VendorRefusal for anything else. */
export const checkAuthorization = ({ authorization = '' }: IncomingHttpHeaders, nowMs: number): void => {
  if (authorization.trim() === '') throw new VendorRefusal(1001, 'Authorization is empty')
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
  if (token === undefined) throw invalid()
  if (token !== sandboxVideoKey) checkToken(token, nowMs / 1_000)
}
