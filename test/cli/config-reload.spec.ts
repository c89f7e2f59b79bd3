import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ConfigReload } from '../../src/cli/config-reload.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { runtime, temporaryFolder } from '../support/gateway.ts'

const [before, after] = ['a', 'b'].map((letter) => letter.repeat(40)) as [string, string]

t.test('the processes of a supervisor change together, though a role does not read every secret', async (t) => {
  const folder = await temporaryFolder(t)
  const [file, token, signing] = ['gateway.yaml', 'ops', 'callbacks'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const content = {
    admin: { tokens: [{ name: 'ops', token: `\${OPS}` }] },
    callbacks: { secret: `\${CALLBACKS}` },
  }
  writeFileSync(file, JSON.stringify(content))
  writeFileSync(token, before)
  writeFileSync(signing, before)
  const env = { OPS_FILE: token, CALLBACKS_FILE: signing }
  const inForce: Record<string, Config> = {}
  const openReload = (
    role: 'worker' | 'background' | 'gateway',
    agree: (texts: Config['fileTexts']) => Promise<unknown>,
  ) => {
    const config = readConfig(env, { file, role })
    inForce[role] = config
    const reload = new ConfigReload(config, runtime, { watches: false, agree })
    reload.onChange((changed) => {
      inForce[role] = changed
    })
    return reload
  }
  const processes = (['background', 'worker'] as const).map((role) => openReload(role, async () => undefined))
  const supervisor = openReload('gateway', async (texts) => {
    for (const each of processes) await each.prepare(texts)
  })
  supervisor.onChange(() => {
    for (const each of processes) each.commit()
  })
  t.not(inForce['background']!.files.length, inForce['gateway']!.files.length, 'their files differ')

  writeFileSync(token, after)
  writeFileSync(file, JSON.stringify({ ...content, aliases: { small: 'openai/gpt-4o-mini' } }))
  await supervisor.check()
  t.same(supervisor.checks(), { configuration: { ok: true } })
  for (const role of ['gateway', 'worker', 'background'])
    t.match(inForce[role]!.catalog.aliases, { small: 'openai/gpt-4o-mini' }, role)
  for (const role of ['gateway', 'worker'])
    t.match(inForce[role]!.admins, [{ name: 'ops', sha256: hash('sha256', after) }], role)
  t.same(inForce['background']!.admins, [], 'it holds no token')
})

t.test('a file that is changed between its reading and the end of the start is read again', async (t) => {
  const file = join(await temporaryFolder(t), 'gateway.yaml')
  const write = (model: string): void => writeFileSync(file, JSON.stringify({ aliases: { small: model } }))
  write('openai/gpt-4o')
  const config = readConfig({}, { file, role: 'gateway' })
  write('openai/gpt-4o-mini')
  const reload = new ConfigReload(config, runtime, { watches: false })
  const changes: Config[] = []
  reload.onChange((changed) => changes.push(changed))
  await reload.check()
  await reload.check()
  t.match(changes, [{ catalog: { aliases: { small: 'openai/gpt-4o-mini' } } }])
  t.equal(changes.length, 1, 'once')
})
