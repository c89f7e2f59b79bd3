import type { WitnessAddress, WitnessClient, WitnessReply } from '../../audit/add-checkpoint.ts'
import { originHash } from '../../audit/witness.ts'
import { witnessLimits } from './limits.ts'

const { witnessAnswerMs, witnessAnswerBytesMax } = witnessLimits

const readText = async ({ body }: Response): Promise<string> => {
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const part of body ?? []) {
    bytes += part.length
    if (bytes > witnessAnswerBytesMax) throw new Error(`the answer has more than ${witnessAnswerBytesMax} bytes`)
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

const call = async (url: string, init: RequestInit): Promise<WitnessReply> => {
  const signal = AbortSignal.timeout(witnessAnswerMs)
  const response = await fetch(url, { ...init, redirect: 'error', signal })
  const type = response.headers.get('content-type')?.split(';', 1)[0]?.trim() ?? ''
  return { status: response.status, type, body: await readText(response) }
}

/** Each call rejects where the witness does not answer in time. */
export const openWitnessClient = ({ url, key }: WitnessAddress): WitnessClient => ({
  key,
  add: (body) => call(`${url}/add-checkpoint`, { method: 'POST', body, headers: { 'Content-Type': 'text/plain' } }),
  readLast: (origin) => call(`${url}/${originHash(origin)}/checkpoint`, {}),
})
