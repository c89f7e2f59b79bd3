/** The ways through the gateway that are measured. */
import type { Format } from './content.ts'
import { anthropicModel, benchModel } from './price.ts'

/** How a client speaks: as an upstream does, or as Google's SDKs do. */
export type Surface = Format | 'gemini'

/** From a surface to an upstream; translated where their formats differ. */
export interface Route {
  readonly surface: Surface
  readonly upstream: Format
  readonly model: string
}

export const routes = {
  chat: { surface: 'chat', upstream: 'chat', model: benchModel },
  messages: { surface: 'messages', upstream: 'messages', model: anthropicModel },
  responses: { surface: 'responses', upstream: 'responses', model: benchModel },
  chatOverMessages: { surface: 'chat', upstream: 'messages', model: anthropicModel },
  messagesOverChat: { surface: 'messages', upstream: 'chat', model: benchModel },
  responsesOverMessages: { surface: 'responses', upstream: 'messages', model: anthropicModel },
  geminiOverChat: { surface: 'gemini', upstream: 'chat', model: benchModel },
} as const satisfies { readonly [name: string]: Route }

export type RouteName = keyof typeof routes

export const translatedRoutes = [
  'chatOverMessages',
  'messagesOverChat',
  'responsesOverMessages',
  'geminiOverChat',
] as const satisfies readonly RouteName[]

export const paths: { readonly [F in Format]: string } = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
}

export const pathOf = (surface: Surface, model: string, stream: boolean): string =>
  surface === 'gemini'
    ? `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`
    : paths[surface]
