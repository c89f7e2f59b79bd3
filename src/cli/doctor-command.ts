import { randomUUID } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { access, constants, open, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Command, Option } from 'commander'
import { UndiciClient } from '../adapters/http/client.ts'
import { readSilenceMs } from '../adapters/nats/server-health.ts'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { answersClients, seals } from '../config/roles.ts'
import { findEmbedded } from '../embedded/embedded.ts'
import { findNatsServer } from '../embedded/nats.ts'
import { findPostgres } from '../embedded/postgres.ts'
import { faultText } from '../errors/gateway-error.ts'
import { ClockWatch } from '../log/clock-watch.ts'
import { type RoleName, roleNames, runsRole } from '../roles/role.ts'
import type { ConfigOf } from './audit-command.ts'
import { cliLimits } from './command-limits.ts'
import { withDatabaseErrors } from './database-errors.ts'
import { openPlatform, type Platform } from './platform.ts'
import { assertPortFree, isGateway } from './ports.ts'
import { checkReach } from './provider-command.ts'
import { exitCodes, type OutputOptions, printRecords } from './report.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { checkSealing } from './sealing-check.ts'
import { version } from './version.ts'

type ExaminedRole = RoleName | 'operator' | 'gateway'

type DoctorOptions = OutputOptions & { readonly role?: ExaminedRole }

type Judged = Awaited<ReturnType<typeof checkSealing>>

interface Finding extends Judged {
  readonly check:
    | 'configuration'
    | 'versions'
    | 'permissions'
    | 'ports'
    | 'disk'
    | 'log'
    | 'clock'
    | 'connections'
    | 'tables'
    | 'sealing'
    | 'provider'
  readonly of: string
}

const ok = (detail = ''): Judged => ({ result: 'ok', detail })
const failed = (detail: string): Judged => ({ result: 'failed', detail })
const warning = (detail: string): Judged => ({ result: 'warning', detail })

/** A check that throws has failed, for the reason thrown. */
const judge = async (check: Finding['check'], of: string, work: () => Promise<Judged> | Judged): Promise<Finding> => {
  try {
    return { check, of, ...(await work()) }
  } catch (fault) {
    return { check, of, ...failed(faultText(fault)) }
  }
}

const checkVersions = async ({ external, natsServerBin, dataFolder }: Config, { logger }: Runtime) => [
  await judge('versions', 'gateway', () => ok(`${version} on Node ${process.versions.node}`)),
  ...(external === null
    ? [
        await judge('versions', 'nats-server', async () => ok(await findNatsServer(natsServerBin, logger))),
        await judge('versions', 'postgres', async () => ok((await findPostgres(dataFolder)).postgres)),
      ]
    : []),
]

const othersRead = 0o044
const othersWrite = 0o022

const judgeMode = (path: string, forbidden: number, what: string): Judged => {
  const mode = statSync(path).mode & 0o777
  return (mode & forbidden) === 0
    ? ok()
    : failed(`other users can ${what} it: mode ${mode.toString(8).padStart(4, '0')}`)
}

const checkPermissions = async ({ external, dataFolder, files, exposedFiles }: Config): Promise<readonly Finding[]> => {
  const secrets = ['credentials.json', join('audit', 'signing-key')].map((name) => join(dataFolder, name))
  const own = external === null ? [dataFolder, ...secrets].filter((path) => existsSync(path)) : []
  return Promise.all([
    ...own.map((path) => judge('permissions', path, () => judgeMode(path, othersRead | othersWrite, 'read'))),
    ...[...new Set([...files, ...exposedFiles])]
      .filter((path) => existsSync(path))
      .map((path) =>
        judge('permissions', path, () =>
          exposedFiles.includes(path)
            ? failed('it holds a secret, and every user of this machine can read it')
            : judgeMode(path, othersWrite, 'change'),
        ),
      ),
  ])
}

/** What a role does not listen on may be another program's. */
const checkPorts = ({ listen, observe }: Config, role: ExaminedRole): Promise<readonly Finding[]> => {
  const ports = [
    ...(answersClients(role) ? [{ of: 'listen', ...listen }] : []),
    ...(observe === null || observe.port === null || role === 'operator'
      ? []
      : [{ of: 'observe', host: observe.host, port: observe.port }]),
  ]
  return Promise.all(
    ports.map(({ of, ...chosen }) =>
      judge('ports', of, async () => {
        const { host, port } = chosen
        if (await isGateway(chosen)) return ok(`a gateway listens on ${host}:${port}`)
        await assertPortFree({ host, port, settings: `\`${of}.port\` of the configuration` })
        return ok(`${host}:${port} is free`)
      }),
    ),
  )
}

const checkSilentConnections = async ({ nats }: NonNullable<Config['external']>): Promise<Judged> => {
  if (nats.monitoringUrl === undefined) return { result: 'skipped', detail: 'no `nats.monitoring_url` is configured' }
  const silenceMs = await readSilenceMs(nats.monitoringUrl)
  if (silenceMs === null) return failed('`nats.monitoring_url` does not report `ping_interval` here')
  const detail = `a process whose machine vanished is found after ${Math.ceil(silenceMs / 1_000)} s`
  if (silenceMs <= cliLimits.silenceMsMax) return ok(detail)
  return warning(`${detail}, and calls go to a vanished proxy until then: set \`ping_interval: 5s\``)
}

const existingFolder = (folder: string): string => (existsSync(folder) ? folder : existingFolder(dirname(folder)))

/** Milliseconds of each, sorted. */
const timeAppends = async (folder: string): Promise<readonly number[]> => {
  const path = join(folder, `doctor-${randomUUID()}`)
  const file = await open(path, 'ax', 0o600)
  const [block, times, startedMs] = [Buffer.alloc(cliLimits.diskAppendBytes), [] as number[], performance.now()]
  try {
    while (times.length < cliLimits.diskAppends && performance.now() - startedMs < cliLimits.diskMs) {
      const beganMs = performance.now()
      await file.write(block)
      await file.datasync()
      times.push(performance.now() - beganMs)
    }
  } finally {
    await file.close()
    await rm(path)
  }
  return times.sort((a, b) => a - b)
}

const judgeDisk = async (dataFolder: string): Promise<readonly Finding[]> => {
  const folder = existingFolder(dataFolder)
  const speed = await judge('disk', 'synced appends', async () => {
    const times = await timeAppends(folder)
    const [median, slow] = [0.5, 0.99].map((part) => times[Math.floor(times.length * part)] ?? 0) as [number, number]
    const detail = `${median.toFixed(1)} ms half of the time, ${slow.toFixed(1)} ms one in a hundred: an acknowledged append takes no less`
    return median > cliLimits.diskSlowMs ? warning(detail) : ok(detail)
  })
  const space = await judge('disk', 'space', async () => {
    const { bavail, bsize } = await statfs(folder)
    const detail = `${Math.floor((bavail * bsize) / 2 ** 20)} MB free on ${folder}`
    return bavail * bsize < cliLimits.diskFreeBytesMin ? failed(detail) : ok(detail)
  })
  return [speed, space]
}

const skip = (check: Finding['check'], of: string, detail: string): Finding => ({
  check,
  of,
  result: 'skipped',
  detail,
})

const examineSealing = async (config: Config, platform: Platform | null): Promise<Judged> => {
  if (config.audit.sealing) await access(existingFolder(dirname(config.auditStateFile)), constants.W_OK)
  return checkSealing(config, platform)
}

const judgeSealing = async (
  config: Config,
  platform: Platform | null,
  role: ExaminedRole,
): Promise<readonly Finding[]> =>
  seals(role) ? [await judge('sealing', config.audit.origin, () => examineSealing(config, platform))] : []

const checkOpened = async ({ log, tables }: Platform, config: Config, runtime: Runtime) => [
  await judge('log', config.log.name, async () => {
    const { frames } = await log.size()
    return config.log.durability === 'synced'
      ? ok(`${frames} frames; acknowledged frames are on the disk`)
      : warning(`${frames} frames; \`durability: relaxed\` may lose acknowledged ones with the power`)
  }),
  await judge('clock', 'this machine', async () => {
    const watch = new ClockWatch(runtime)
    await watch.compare(async () => (await log.readEnd()).serverTimeMs)
    return watch.check.ok ? ok("agrees with the log server's") : failed(watch.check.reason ?? '')
  }),
  ...(tables === null
    ? []
    : [
        await judge('tables', 'PostgreSQL', async () => {
          const { database, place } = tables
          return ok(`written to frame ${await withDatabaseErrors(place.url, database.checkpoint())}`)
        }),
      ]),
]

const checkServers = async (config: Config, runtime: Runtime, role: ExaminedRole): Promise<readonly Finding[]> => {
  if (config.external === null && (await findEmbedded(config.dataFolder)) === null)
    return [
      skip('log', config.log.name, 'the embedded servers do not run: they are checked at each start'),
      ...(await judgeSealing(config, null, role)),
    ]
  try {
    const onFatal = (): void => undefined
    const options = { embedded: 'running', readOnly: true, onFatal } as const
    const platform = await openPlatform(config, runtime, { role, ...options })
    const check = async () => [
      ...(await checkOpened(platform, config, runtime)),
      ...(await judgeSealing(config, platform, role)),
    ]
    return await check().finally(() => platform.stop())
  } catch (fault) {
    return [{ check: 'log', of: config.log.name, ...failed(faultText(fault)) }]
  }
}

const checkProviders = async (config: Config, runtime: Runtime): Promise<readonly Finding[]> => {
  const http = new UndiciClient()
  try {
    const found = await checkReach({ config, http, runtime })
    return found.map(({ of, check, result, detail }) => ({
      check: 'provider',
      of,
      result,
      detail: `${check} ${detail}`.trim(),
    }))
  } finally {
    await http.stop()
  }
}

const examine = async (read: () => Config, role: ExaminedRole): Promise<readonly Finding[]> => {
  const runtime = createRuntime('silent')
  let config: Config
  try {
    config = read()
  } catch (fault) {
    if (!(fault instanceof ConfigError)) throw fault
    return [{ check: 'configuration', of: 'file', ...failed(fault.message) }]
  }
  const {
    external,
    files: [file = ''],
  } = config
  return [
    { check: 'configuration', of: existsSync(file) ? file : 'defaults', ...ok() },
    ...config.warnings.map(({ path, message }) => ({ check: 'configuration', of: path, ...warning(message) }) as const),
    ...(await checkVersions(config, runtime)),
    ...(await checkPermissions(config)),
    ...(await checkPorts(config, role)),
    ...(external === null
      ? await judgeDisk(config.dataFolder)
      : [await judge('connections', 'nats-server', () => checkSilentConnections(external))]),
    ...(await checkServers(config, runtime, role)),
    ...(runsRole(role, 'proxy') ? await checkProviders(config, runtime) : []),
  ]
}

/** Exit code 1 where something failed. */
export const registerDoctor = (program: Command, configOf: ConfigOf): void => {
  program
    .command('doctor')
    .description(
      'check configuration, versions, permissions, ports, disk, servers, clock, sealing, and that providers are reached; changes nothing',
    )
    .addOption(
      new Option('--role <role>', 'what one role needs, in its environment; without it the whole gateway').choices([
        ...roleNames,
        'operator',
      ]),
    )
    .option('--json', 'one JSON object a line', false)
    .action(async ({ role = 'gateway', ...options }: DoctorOptions, command: Command) => {
      const findings = await examine(() => configOf(command, { role }), role)
      printRecords(
        findings.map(({ result, check, of, detail }) => ({ result, check, of, detail })),
        options,
      )
      const failures = findings.filter(({ result }) => result === 'failed').length
      if (failures > 0) console.error(`${failures} of ${findings.length} checks failed`)
      process.exitCode = failures === 0 ? exitCodes.done : exitCodes.failed
    })
}
