import { type Format, formats } from './content.ts'
import { type RouteName, translatedRoutes } from './routes.ts'

/** One kind of load. */
export interface Case {
  readonly route: RouteName
  readonly stream: boolean
  readonly connections: number
}

/** Where surfaces are compared. */
export const comparedConnections = 64

const routesOf = (surfaces: readonly Format[], stream: boolean): readonly RouteName[] => {
  const beside = surfaces.filter((surface) => surface !== 'chat')
  const translates = stream && surfaces.includes('chat') && surfaces.includes('messages')
  return translates ? [...beside, ...translatedRoutes] : beside
}

/** Chat at each number of connections, what else is asked for at one. */
export const casesOf = (surfaces: readonly Format[], chatConnections: readonly number[]): readonly Case[] =>
  [false, true].flatMap((stream) => [
    ...(surfaces.includes('chat') ? chatConnections : []).map(
      (connections) => ({ route: 'chat', stream, connections }) as const,
    ),
    ...routesOf(surfaces, stream).map((route) => ({ route, stream, connections: comparedConnections })),
  ])

/** The order of a round: what is compared is measured last, one right after another, since a shared machine changes from minute to minute. */
export const inTurn = (cases: readonly Case[]): readonly Case[] =>
  [false, true].flatMap((stream) => {
    const own = cases.filter((each) => each.stream === stream)
    const isCompared = ({ connections }: Case): boolean => connections === comparedConnections
    return [...own.filter((each) => !isCompared(each)), ...own.filter(isCompared)]
  })

const isBusiest = (one: Case, cases: readonly Case[]): boolean =>
  !cases.some((each) => each.route === one.route && each.stream === one.stream && each.connections > one.connections)

/** Of each route the one of the most connections. */
export const busiestOf = (cases: readonly Case[]): readonly Case[] => cases.filter((each) => isBusiest(each, cases))

const asSurface = (word: string): Format => {
  const surface = formats.find((format) => format === word)
  if (surface === undefined) throw new Error(`not a surface: ${word}`)
  return surface
}

export const surfacesOf = (words: string): readonly Format[] => [...new Set(words.split(','))].map(asSurface)

const routeLabels: { readonly [R in RouteName]: string } = {
  chat: 'chat',
  messages: 'messages',
  responses: 'responses',
  chatOverMessages: 'chat → anthropic',
  messagesOverChat: 'messages → openai',
  responsesOverMessages: 'responses → anthropic',
  geminiOverChat: 'gemini → openai',
}

export const labelOf = (route: RouteName): string => routeLabels[route]
