import { GatewayError } from '../../../../errors.ts'
import type { JsonObject } from '../../../../json.ts'
import type { EdgeMiddleware } from '../../middleware/context.ts'
import { readJson } from '../../middleware/json-body.ts'
import { readBody } from '../../middleware/read-body.ts'

const formType = /^multipart\/form-data\s*;/i
/** `size`, `metadata[mode]`, `images[]`: as far as OpenAI's clients nest the members of a video. */
const namePattern = /^(\w+)(?:\[(\w*)\])?$/

const invalidForm = (cause: unknown): GatewayError =>
  new GatewayError('invalid_request', 'The request body is not valid form data.', { cause })

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

const fieldOf = async (name: string, value: File | string): Promise<unknown> => {
  if (typeof value === 'string') return Object.hasOwn(textMembers, name) ? textMembers[name]!(value) : value
  if (name === 'input_reference') return Buffer.from(await value.arrayBuffer()).toString('base64')
  throw new GatewayError('invalid_value', `Invalid value for '${name}': no file is taken here.`, { param: name })
}

const tooDeep = (param: string): GatewayError =>
  new GatewayError('invalid_value', `'${param}' nests too deep for a form: send \`metadata\` as JSON text.`, { param })

/** A form as the JSON object that it stands for. */
const objectOfForm = async (form: FormData): Promise<JsonObject> => {
  const fields = new Map<string, unknown>()
  for (const [path, value] of form) {
    const [, name, member] = namePattern.exec(path) ?? []
    if (name === undefined) throw tooDeep(path)
    const read = await fieldOf(member || name, value)
    const standing = fields.get(name)
    if (member === undefined) fields.set(name, read)
    else if (member === '') fields.set(name, [...(Array.isArray(standing) ? standing : []), read])
    else fields.set(name, { ...(typeof standing === 'object' ? standing : {}), [member]: read })
  }
  return Object.fromEntries(fields)
}

/** Reads the body as JSON, or as the form that OpenAI's clients send with or without a file. Throws as `readJson` does. */
export const readJsonOrForm = (bytesMax: number): EdgeMiddleware => {
  const json = readJson(bytesMax)
  return async (ctx, next) => {
    const { 'content-type': contentType = '' } = ctx.req.headers
    if (!formType.test(contentType)) return json(ctx, next)
    const bytes = await readBody(ctx.req, bytesMax)
    ctx.state.json = { value: await objectOfForm(await parseForm(bytes, contentType)), bytesLength: bytes.length }
    await next()
  }
}
