import { readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, chown, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { describeOldNode, version } from '../../src/cli/version.ts'
import { readRecord } from '../../src/embedded/record.ts'
import { until } from '../support/clients.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { programEnvironment } from '../support/program.ts'
import { installByHand, installByNpm, installNode, repository, run, startServe, terminate } from './installed.ts'

const isWhole = (process.env['PACKAGE_WHOLE'] ?? '') !== ''
const megabyte = 1e6

const blockBytes = 4_096

/** On a disk, which stores files in blocks. */
const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => Math.ceil(statSync(join(parentPath, name)).size / blockBytes) * blockBytes)
    .reduce((sum, bytes) => sum + bytes, 0)

type Started = Awaited<ReturnType<typeof startServe>>

const sendsABilledRequest = async (t: Test, { url, key }: Started): Promise<void> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'Hello!' }]
  const body = JSON.stringify({ model: 'openai/gpt-4o-mini', messages })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
  t.match(await response.json(), { choices: [{ message: { content: 'You said: Hello!' } }] })
  const usage = async (): Promise<number> => {
    const answer = await fetch(`${url}/v1/dashboard/billing/usage`, { headers })
    return ((await answer.json()) as { readonly total_usage: number }).total_usage
  }
  await until(async () => (await usage()) > 0)
  t.equal(await usage(), 0.000195, 'in units of 0.01 USD')
  const page = await fetch(`${url}/dashboard`)
  t.match(await page.text(), /<title>/)
}

const servesAndStops = async (t: Test, started: Started): Promise<void> => {
  await sendsABilledRequest(t, started)
  t.same(await terminate(started), [0, null])
  t.equal(readRecord(started.dataFolder), null, 'the servers have ended')
}

t.test('an older Node is refused with one message', async (t) => {
  t.equal(describeOldNode('22.13.0'), null)
  t.equal(describeOldNode('24.0.0'), null)
  const message = (node: string) => `gateway ${version} needs Node 22.13 or later, and this is Node ${node}`
  for (const node of ['22.12.0', '20.20.2', '18.0.0']) t.equal(describeOldNode(node), message(node))
})

t.test('one version, in the package, the lock and the changelog', async (t) => {
  const read = (name: string) => readFileSync(join(repository, name), 'utf8')
  const lock = JSON.parse(read('package-lock.json'))
  t.same([lock.version, lock.packages[''].version], [version, version])
  t.equal(/^## (\S+)$/m.exec(read('CHANGELOG.md'))?.[1], version)
})

t.test('its version is printed without loading the program', async (t) => {
  const folder = await temporaryFolder(t)
  const env = programEnvironment({ NODE_V8_COVERAGE: folder })
  const { stdout } = await run(process.execPath, [join(repository, 'src', 'main.ts'), '--version'], { env })
  t.equal(stdout, `${version}\n`)
  const [coverage = ''] = readdirSync(folder)
  const scripts = JSON.parse(readFileSync(join(folder, coverage), 'utf8'))
    .result.map(({ url }: { readonly url: string }) => url)
    .filter((url: string) => url.startsWith('file:') && !url.includes('node_modules'))
  t.same(scripts.map((url: string) => basename(url)).sort(), ['main.ts', 'version.ts'])
})

t.test('built, and run outside of the clone', { skip: isWhole && 'the whole test does more' }, async (t) => {
  const folder = await temporaryFolder(t)
  const main = await installByHand(folder)
  await servesAndStops(t, await startServe(t, folder, [process.execPath, main]))
})

t.test('packed and installed', { skip: !isWhole && 'make package-test' }, async (t) => {
  const folder = await temporaryFolder(t)
  await run('make', ['-s', 'package'], { cwd: repository })
  const packed = join(repository, 'out', `model-gateway-${version}.tgz`)
  const env = { PATH: `${await installNode(join(folder, 'node'))}:${process.env['PATH']}` }

  t.test('without the embedded servers: needs no registry, and says what is missing', async (t) => {
    const project = join(folder, 'small')
    await installByNpm(project, packed, '--omit=optional', '--offline', '--cache', join(folder, 'empty'))
    const bytes = sizeOf(project)
    t.comment(`installed: ${(bytes / megabyte).toFixed(1)} MB`)
    t.ok(bytes <= 40 * megabyte)
    t.same(readdirSync(join(project, 'node_modules', '.bin')), ['gateway'])
    await t.rejects(run('npx', ['gateway', 'serve'], { cwd: project }), /no PostgreSQL for .* install it, or/)
    const old = { PATH: `${await installNode(join(folder, 'old'), '18.20.8')}:${process.env['PATH']}` }
    const stderr = `gateway ${version} needs Node 22.13 or later, and this is Node 18.20.8\n`
    const gateway = join(project, 'node_modules', '.bin', 'gateway')
    const withoutTap = ['-u', 'NODE_OPTIONS', gateway, 'serve']
    await t.rejects(run('env', withoutTap, { env: programEnvironment(old) }), { code: 1, stdout: '', stderr })
  })

  t.test('with them, on the oldest Node', async (t) => {
    const project = join(folder, 'whole')
    await installByNpm(project, packed)
    const bytes = sizeOf(project)
    t.comment(`installed: ${(bytes / megabyte).toFixed(1)} MB`)
    t.ok(bytes <= 150 * megabyte)
    const startedMs = performance.now()
    const started = await startServe(t, project, ['npx', 'gateway'], env)
    await sendsABilledRequest(t, started)
    t.comment(`first answer after ${Math.round(performance.now() - startedMs)} ms`)
    await terminate(started)
    await until(() => readRecord(started.dataFolder) === null) // npx ends before: SIGTERM takes its shell, and by that the gateway.
    t.match(JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')).dependencies, { 'model-gateway': /tgz$/ })
  })

  t.test('by the script of the image and the service, run by a user who can change nothing of it', async (t) => {
    const folder = await temporaryFolder(t)
    await chmod(folder, 0o755)
    const installed = join(folder, 'installed')
    await run(join(repository, 'deploy', 'container', 'install.sh'), [packed, installed])
    const unprivileged = { uid: 65_534, gid: 65_534 }
    const data = join(folder, 'data')
    await mkdir(data)
    await chown(data, unprivileged.uid, unprivileged.gid)
    const gateway = join(installed, 'bin', 'gateway')
    await servesAndStops(t, await startServe(t, folder, [gateway], env, process.getuid?.() === 0 ? unprivileged : {}))
  })

  t.test('where npm ran no install script', async (t) => {
    const project = join(folder, 'scriptless')
    await installByNpm(project, packed, '--ignore-scripts')
    const gateway = join(project, 'node_modules', '.bin', 'gateway')
    await servesAndStops(t, await startServe(t, project, [gateway], env))
  })
})
