/** The ways through the gateway that are measured. */
import type { Format } from './content.ts'
import { anthropicModel, benchModel } from './price.ts'

/** From a surface to an upstream; translated where their formats differ. */
export interface Route {
  readonly surface: Format
  readonly upstream: Format
  readonly model: string
}

export const routes = {
  chat: { surface: 'chat', upstream: 'chat', model: benchModel },
  messages: { surface: 'messages', upstream: 'messages', model: anthropicModel },
  responses: { surface: 'responses', upstream: 'responses', model: benchModel },
  translated: { surface: 'chat', upstream: 'messages', model: anthropicModel },
} as const satisfies { readonly [name: string]: Route }

export type RouteName = keyof typeof routes

export const paths: { readonly [F in Format]: string } = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
}
