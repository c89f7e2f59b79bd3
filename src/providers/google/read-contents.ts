import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { flatMapInSteps, stepsOfEach } from '../../encoding/steps.ts'
import { invalidValue } from '../../errors/gateway-error.ts'
import { Queue } from '../../runtime/queue.ts'
import { ArgumentBounds } from '../canonical/argument-bounds.ts'
import type {
  AudioPart,
  ConversationPart,
  ConversationTurn,
  DocumentPart,
  ImagePart,
  TextPart,
  ToolResultPart,
} from '../canonical/conversation.ts'
import { unsupported } from '../canonical/refuse.ts'
import { openSignature } from './signatures.ts'

type MediaPart = ImagePart | DocumentPart | AudioPart

const readText = (text: string): TextPart => ({ type: 'text', text, cached: null })

const audioFormats: Readonly<Record<string, AudioPart['format']>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
}

/** Elsewhere base64 has one alphabet. To replace the letters of the other one by one takes seconds. */
const plainBase64 = (data: string): string =>
  /[-_]/.test(data) ? Buffer.from(data, 'base64url').toString('base64') : data

const readMedia = (inlineData: JsonObject, path: string): MediaPart => {
  const mediaType = asText(inlineData['mimeType']).toLowerCase()
  const base64 = plainBase64(asText(inlineData['data']))
  const audio = audioFormats[mediaType]
  if (audio !== undefined) return { type: 'audio', format: audio, base64 }
  if (mediaType.startsWith('image/'))
    return { type: 'image', source: { mediaType, base64 }, detail: null, cached: null }
  const title = asText(inlineData['displayName']) || null
  if (mediaType.startsWith('text/'))
    return { type: 'document', source: { text: Buffer.from(base64, 'base64').toString() }, title, cached: null }
  if (mediaType === 'application/pdf') return { type: 'document', source: { mediaType, base64 }, title, cached: null }
  throw unsupported(`${path}.mimeType`, `'${mediaType.slice(0, 64)}' is not available for this model`)
}

/** What the provider's code execution did, as the model of another one can read it. */
const readCode = ({ executableCode, codeExecutionResult }: JsonObject): TextPart => {
  const { code } = asObject(executableCode)
  return readText(
    code === undefined ? asText(asObject(codeExecutionResult)['output']) : `\`\`\`\n${asText(code)}\n\`\`\``,
  )
}

const isCode = (part: JsonObject): boolean => isObject(part['executableCode']) || isObject(part['codeExecutionResult'])

/** A function's result is an object; one text in it is the result by convention. */
const readResultText = (response: JsonObject): { readonly text: string; readonly isError: boolean } => {
  const [[name, value] = ['', undefined], ...others] = Object.entries(response)
  if (others.length === 0 && typeof value === 'string' && (name === 'output' || name === 'result' || name === 'error'))
    return { text: value, isError: name === 'error' }
  return { text: JSON.stringify(response), isError: false }
}

const readResultMedia = (parts: unknown, path: string): readonly (ImagePart | DocumentPart)[] =>
  asArray(parts).map((part, index) => {
    const media = readMedia(asObject(asObject(part)['inlineData']), `${path}[${index}].inlineData`)
    if (media.type === 'audio') throw unsupported(`${path}[${index}]`, 'must not be audio in the result of a function')
    return media
  })

interface OpenCall {
  readonly id: string
  readonly name: string
  isOpen: boolean
}

const push = (calls: Map<string, Queue<OpenCall>>, key: string, call: OpenCall): void => {
  const queue = calls.get(key) ?? new Queue()
  queue.push(call)
  calls.set(key, queue)
}

const firstOpen = (calls: Queue<OpenCall> | undefined): OpenCall | undefined => {
  while (calls?.head?.isOpen === false) calls.shift()
  return calls?.head
}

/** Their results may come in any order, and by name alone. */
class OpenCalls {
  readonly #byId = new Map<string, Queue<OpenCall>>()
  readonly #byName = new Map<string, Queue<OpenCall>>()

  add({ id, name }: Pick<OpenCall, 'id' | 'name'>): void {
    const call = { id, name, isOpen: true }
    push(this.#byId, id, call)
    push(this.#byName, name, call)
  }

  take(id: string, name: string): OpenCall | undefined {
    const call = firstOpen(this.#byId.get(id)) ?? firstOpen(this.#byName.get(name))
    if (call !== undefined) call.isOpen = false
    return call
  }
}

class Transcript {
  readonly turns: ConversationTurn[] = []
  readonly #owner: string
  readonly #openCalls = new OpenCalls()
  readonly #arguments = new ArgumentBounds()
  #calls = 0

  constructor(owner: string) {
    this.#owner = owner
  }

  *add({ role = 'user', parts }: JsonObject, path: string): Generator<void, void> {
    const isModel = role === 'model'
    if (!isModel && role !== 'user' && role !== 'function')
      throw invalidValue(`${path}.role`, 'user or model is expected')
    const read = yield* flatMapInSteps(asArray(parts), (part, index) => {
      const partPath = `${path}.parts[${index}]`
      return isModel ? this.#readAnswer(asObject(part), partPath) : this.#readQuestion(asObject(part), partPath)
    })
    const turnRole = isModel ? 'assistant' : 'user'
    if (read.length > 0) this.turns.push({ role: turnRole, parts: read })
  }

  /** Thoughts are shown to the caller alone: what their model needs of them is in the signature of the next part. */
  #readAnswer(part: JsonObject, path: string): readonly ConversationPart[] {
    const sealed = openSignature(this.#owner, part['thoughtSignature'])
    const thoughts = sealed.filter((each) => each.type !== 'call_signature')
    if (isObject(part['functionCall'])) {
      const signature = sealed.find((each) => each.type === 'call_signature')?.signature ?? null
      return [...thoughts, this.#readCall(part['functionCall'], signature, path)]
    }
    if (part['inlineData'] !== undefined || part['functionResponse'] !== undefined)
      throw unsupported(path, 'with anything but text and function calls is not available in an answer of this model')
    if (isCode(part)) return [...thoughts, readCode(part)]
    const text = part['thought'] === true ? '' : asText(part['text'])
    return text === '' ? thoughts : [...thoughts, readText(text)]
  }

  #readCall({ id, name, args }: JsonObject, signature: string | null, path: string): ConversationPart {
    if (asText(name) === '') throw invalidValue(`${path}.functionCall.name`, 'a name is required')
    const call = { id: asText(id) || `call_${this.#calls}`, name: asText(name) }
    this.#calls += 1
    this.#openCalls.add(call)
    const given = this.#arguments.write(asObject(args), `${path}.functionCall.args`)
    return { type: 'tool_call', ...call, arguments: given, signature, cached: null }
  }

  #readQuestion(part: JsonObject, path: string): readonly ConversationPart[] {
    if (isObject(part['functionResponse']))
      return [this.#readResult(part['functionResponse'], `${path}.functionResponse`)]
    if (isObject(part['inlineData'])) return [readMedia(part['inlineData'], `${path}.inlineData`)]
    if (isCode(part)) return [readCode(part)]
    if (part['functionCall'] !== undefined) throw invalidValue(path, 'a function call is expected of the model alone')
    return typeof part['text'] === 'string' ? [readText(part['text'])] : []
  }

  #readResult({ id, name, response, parts }: JsonObject, path: string): ToolResultPart {
    const call = this.#openCalls.take(asText(id), asText(name))
    if (call === undefined) throw invalidValue(path, 'no functionCall before it waits for this result')
    const { text, isError } = readResultText(asObject(response))
    const media = readResultMedia(parts, `${path}.parts`)
    return { type: 'tool_result', toolCallId: call.id, parts: [readText(text), ...media], isError, cached: null }
  }
}

/** `owner`: whose model will read them. Throws `invalid_value` and `unsupported_parameter` with the path. */
export function* readContents(contents: unknown, owner: string): Generator<void, readonly ConversationTurn[]> {
  const transcript = new Transcript(owner)
  yield* stepsOfEach(asArray(contents), (content, index) => transcript.add(asObject(content), `contents[${index}]`))
  return transcript.turns
}
