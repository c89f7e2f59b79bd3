import { MIMEType } from 'node:util'
import type { JsonObject } from '../../../../encoding/json.ts'
import { GatewayError, truncateName } from '../../../../errors/gateway-error.ts'
import { type HttpMiddleware, keyOfContext } from '../../../../http/context.ts'
import { runWhereLarge } from '../../../../runtime/large-steps.ts'
import { type BodyBoundOf, nextWithJson, readJson, readRequestBody, refuseEncoded } from '../../http/request-body.ts'
import { surfaceLimits } from '../limits.ts'

const formType = /^multipart\/form-data\s*;/i
/** `size`, `metadata[mode]`, `images[]`: the nesting that OpenAI's clients use. */
const namePattern = /^(\w+)(?:\[(\w*)\])?$/

const invalidForm = (cause: unknown): GatewayError =>
  new GatewayError('invalid_request', 'The request body is not valid form data.', { cause })

const tooMany = (): GatewayError =>
  new GatewayError('invalid_request', `The form has more than ${surfaceLimits.formPartsMax} parts.`)

const boundaryOf = (contentType: string): string => {
  try {
    return new MIMEType(contentType).params.get('boundary') ?? ''
  } catch (cause) {
    throw invalidForm(cause)
  }
}

/** Each part ends at a boundary: they are counted while they arrive, since to parse them takes longer. */
const refuseManyParts = (contentType: string): ((piece: Buffer) => void) => {
  const end = `\r\n--${boundaryOf(contentType)}`
  let parts = 0
  let rest: Uint8Array = Buffer.alloc(0)
  return (piece) => {
    const bytes = Buffer.concat([rest, piece])
    for (let at = bytes.indexOf(end); at >= 0; at = bytes.indexOf(end, at + end.length)) {
      parts += 1
      if (parts > surfaceLimits.formPartsMax) throw tooMany()
    }
    rest = bytes.subarray(Math.max(0, bytes.length - end.length + 1))
  }
}

const parseForm = async (bytes: Buffer, contentType: string): Promise<FormData> => {
  try {
    return await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw invalidForm(cause)
  }
}

const textMembers: Readonly<Record<string, (text: string) => unknown>> = {
  cfg_scale: Number,
  multi_shot: (text) => text === 'true',
}

const noFile = (param: string): GatewayError =>
  new GatewayError('invalid_value', `Invalid value for '${param}': no file is taken here.`, { param })

const fieldOf = async (name: string, value: File | string): Promise<unknown> => {
  if (typeof value === 'string') return Object.hasOwn(textMembers, name) ? textMembers[name]!(value) : value
  if (name === 'input_reference') return Buffer.from(await value.arrayBuffer()).toString('base64')
  throw noFile(truncateName(name))
}

const tooDeep = (param: string): GatewayError =>
  new GatewayError('invalid_value', `'${param}' nests too deep for a form: send \`metadata\` as JSON text.`, { param })

/** What was sent under one name: its last value, or the items or members, as the last of its parts has it. */
type Field = { readonly value: unknown } | { readonly items: unknown[] } | { readonly members: Map<string, unknown> }

const added = (existing: Field | undefined, member: string | undefined, value: unknown): Field => {
  if (member === undefined) return { value }
  if (member === '') {
    const field = existing !== undefined && 'items' in existing ? existing : { items: [] }
    field.items.push(value)
    return field
  }
  const field = existing !== undefined && 'members' in existing ? existing : { members: new Map() }
  field.members.set(member, value)
  return field
}

const jsonOf = (field: Field): unknown => {
  if ('value' in field) return field.value
  return 'items' in field ? field.items : Object.fromEntries(field.members)
}

const objectOfForm = async (form: FormData): Promise<JsonObject> => {
  const fields = new Map<string, Field>()
  for (const [path, value] of form) {
    const [, name, member] = namePattern.exec(path) ?? []
    if (name === undefined) throw tooDeep(truncateName(path))
    fields.set(name, added(fields.get(name), member, await fieldOf(member || name, value)))
  }
  return Object.fromEntries([...fields].map(([name, field]) => [name, jsonOf(field)]))
}

/** Reads the body as JSON, or as the form that OpenAI's clients send with or without a file. Throws like `readJson`. */
export const readJsonOrForm = (boundOf: BodyBoundOf): HttpMiddleware => {
  const json = readJson(boundOf)
  return async (ctx, next) => {
    const { 'content-type': contentType = '' } = ctx.req.headers
    if (!formType.test(contentType)) return json(ctx, next)
    refuseEncoded(ctx.req.headers)
    const bytes = await readRequestBody(ctx, boundOf(ctx), refuseManyParts(contentType))
    const large = { workspaceId: keyOfContext(ctx).workspaceId, bytes: bytes.length }
    const form = await runWhereLarge(large, () => parseForm(bytes, contentType))
    const value = await runWhereLarge(large, () => objectOfForm(form))
    ctx.state.json = { value, bytesLength: bytes.length }
    await nextWithJson(ctx, next)
  }
}
