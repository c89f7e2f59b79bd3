import { type Command, InvalidArgumentError, type Option } from 'commander'
import { setAlias, setRouter } from '../administration/routing-changes.ts'
import { candidateName, type RouterCandidate, type RouterRule } from '../domain/routing/plan.ts'
import { resolveCatalog, warnAboutNames } from './catalog.ts'
import type { CommandSession, WithSession } from './register.ts'
import { type OutputOptions, printRecords } from './report.ts'

const sourceOf = (isSet: boolean): string => (isSet ? 'log' : 'configuration')

const aliasRecords = (session: CommandSession) => {
  const { aliases } = session.tail.ledger.routing
  return Object.entries(resolveCatalog(session).aliases)
    .map(([alias, model]) => ({ alias, model, source: sourceOf(aliases.has(alias)) }))
    .toSorted((one, other) => (one.alias < other.alias ? -1 : 1))
}

const candidateText = (candidate: RouterCandidate): string =>
  typeof candidate === 'string' || candidate.weight === undefined
    ? candidateName(candidate)
    : `${candidate.model}=${candidate.weight}`

const routerRecords = (session: CommandSession) => {
  const { routers } = session.tail.ledger.routing
  return Object.entries(resolveCatalog(session).routers)
    .map(([router, { candidates, order = 'listed' }]) => ({
      router,
      order,
      candidates: candidates.map(candidateText).join(' '),
      source: sourceOf(routers.has(router)),
    }))
    .toSorted((one, other) => (one.router < other.router ? -1 : 1))
}

const reportSet = (isNews: boolean): void => console.error(isNews ? 'set' : 'it was so before')
const reportUnset = (isNews: boolean): void =>
  console.error(isNews ? "the configuration's word counts again" : "nothing was set over the configuration's word")

const registerAlias = (program: Command, withSession: WithSession, json: () => Option): void => {
  const alias = program
    .command('alias')
    .description("what bare names lead to, at every edge at once; the log's word counts before the file's")
  alias
    .command('set <alias> <model>')
    .description('let a bare name lead to <provider>/<model>')
    .action((name: string, model: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        reportSet(await setAlias(session, resolveCatalog(session), name, model))
        warnAboutNames(session, [model])
      }),
    )
  alias
    .command('unset <alias>')
    .description("give the configuration's word back, if it has one")
    .action((name: string, _options: object, command: Command) =>
      withSession(command, async (session) =>
        reportUnset(await setAlias(session, resolveCatalog(session), name, null)),
      ),
    )
  alias
    .command('list')
    .description('every alias, and where its word comes from')
    .addOption(json())
    .action((options: OutputOptions, command: Command) =>
      withSession(command, async (session) => printRecords(aliasRecords(session), options)),
    )
}

const weightMax = 10_000
const candidatesMax = 16

/** `openai/gpt-5-mini` or `openai/gpt-5-mini=3`. */
const candidateOf = (text: string, before: readonly RouterCandidate[] = []): readonly RouterCandidate[] => {
  if (before.length === candidatesMax)
    throw new InvalidArgumentError(`a router has at most ${candidatesMax} candidates`)
  const [, model = text, weightText] = /^(.+)=(\d{1,5})$/.exec(text) ?? []
  if (weightText === undefined) return [...before, text]
  const weight = Number(weightText)
  if (weight < 1 || weight > weightMax) throw new InvalidArgumentError(`a weight is from 1 to ${weightMax}`)
  return [...before, { model, weight }]
}

const registerRouter = (program: Command, withSession: WithSession, json: () => Option): void => {
  const router = program
    .command('router')
    .description("what gateway/<router> tries, at every edge at once; the log's word counts before the file's")
  router
    .command('set <router>')
    .description('set the candidates of a router: <provider>/<model> or aliases, tried in the order given')
    .argument('<candidates...>', 'with --weighted also <candidate>=<weight>; 1 where that is not told', candidateOf)
    .option('--weighted', 'draw the first by weight; the others follow likewise', false)
    .action((name: string, candidates: RouterRule['candidates'], options: { weighted: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const rule: RouterRule = { candidates, order: options.weighted ? 'weighted' : 'listed' }
        reportSet(await setRouter(session, resolveCatalog(session), name, rule))
        warnAboutNames(session, candidates.map(candidateName))
      }),
    )
  router
    .command('unset <router>')
    .description("give the configuration's word back, if it has one")
    .action((name: string, _options: object, command: Command) =>
      withSession(command, async (session) =>
        reportUnset(await setRouter(session, resolveCatalog(session), name, null)),
      ),
    )
  router
    .command('list')
    .description('every router, and where its word comes from')
    .addOption(json())
    .action((options: OutputOptions, command: Command) =>
      withSession(command, async (session) => printRecords(routerRecords(session), options)),
    )
}

export const registerRouting = (program: Command, withSession: WithSession, json: () => Option): void => {
  registerAlias(program, withSession, json)
  registerRouter(program, withSession, json)
}
