import { createHmac, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { type Sandbox, startSandbox } from '../../../sandbox/server.ts'

type Json = ReturnType<JSON['parse']>

/** A clock that goes only when it is told to. */
export class HandClock {
  nowMs = Date.parse('2026-11-21T12:00:00Z')
  readonly read = (): number => this.nowMs
}

export interface VideoSandbox {
  readonly sandbox: Sandbox
  readonly clock: HandClock
}

/** A sandbox whose time stands still until the test moves it. */
export const videoSandboxFor = async (t: Test): Promise<VideoSandbox> => {
  const clock = new HandClock()
  const sandbox = await startSandbox({ clock: clock.read, newId: randomUUID })
  t.teardown(() => sandbox.stop())
  return { sandbox, clock }
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

const answered = async (response: Response): Promise<Answered> => ({
  status: response.status,
  headers: response.headers,
  body: await response.json(),
})

export const bearer = 'Bearer sandbox'

export const textBody = (prompt = 'A cat.', more: object = {}): object => ({
  model_name: 'vendor-v3',
  prompt,
  mode: 'std',
  duration: '5',
  ...more,
})

export const post = async (
  { url }: Sandbox,
  body: unknown,
  kind = 'text2video',
  authorization = bearer,
): Promise<Answered> =>
  answered(
    await fetch(`${url}/videos/${kind}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization === '' ? {} : { authorization }) },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  )

export const get = async ({ url }: Sandbox, path: string, authorization = bearer): Promise<Answered> =>
  answered(await fetch(`${url}/videos/${path}`, { headers: { authorization } }))

export const control = async ({ url }: Sandbox, path: string, directives?: string): Promise<Answered> =>
  answered(
    await fetch(
      new URL(`/sandbox/videos${path}`, url),
      directives === undefined ? {} : { method: 'POST', body: JSON.stringify({ directives }) },
    ),
  )

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

export const jwt = (claims: object, secret = 'sandbox', head: object = { alg: 'HS256', typ: 'JWT' }): string => {
  const signed = `${encode(head)}.${encode(claims)}`
  return `Bearer ${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
