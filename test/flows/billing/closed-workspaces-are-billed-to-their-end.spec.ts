import t from 'tap'
import { setWorkspaceStatus } from '../../../src/administration/account-changes.ts'
import { checkCharges } from '../../support/bills.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { startRolesTogether } from '../../support/roles-together.ts'
import {
  openKnownAccount,
  plainUsd,
  statementOf,
  submitVideo,
  videoOptions,
  walletFigures,
} from '../../support/video.ts'

t.test(
  'a stream and a video that run when their workspace is closed end and are billed, and nothing begins',
  async (t) => {
    const { direct } = await startExternalServers(t)
    const { operator, urls, sandbox } = await startRolesTogether(t, {
      external: direct,
      ...videoOptions(),
      models: { plain: 'plain;delay_ms=800' },
    })
    const [url = ''] = urls
    const secret = await openKnownAccount(operator, urls, 'acme', '10')
    const ask = { prompt: 'A cat. [[never]]' }
    const video = await submitVideo(url, secret, ask)
    await until(() => sandbox.videos.find(video.body.task_id) !== undefined)
    const answer = chat(url, secret, chatBody('openai/plain', true))
    await until(async () => (await operator.events()).some(({ type }) => type === 'RequestRouted'))

    await setWorkspaceStatus(operator, 'acme', 'CloseWorkspace')
    await until(
      async () => (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })).status === 403,
    )
    t.equal((await submitVideo(url, secret, ask)).status, 403)
    t.equal((await chat(url, secret, chatBody('openai/plain', false))).status, 403)
    t.equal((await answer).status, 200)
    sandbox.videos.end(video.body.task_id)
    const ended = async () =>
      (await operator.events()).flatMap(({ type, data }) => (type === 'TaskSettled' ? [data] : []))
    await until(async () => (await ended()).length === 1)
    t.match(await ended(), [{ total: plainUsd }])

    await checkCharges(t, { operator })
    const kinds = (await statementOf(operator, 'acme')).flatMap(({ kind }) => (kind.includes('charge') ? [kind] : []))
    t.same(kinds.length, 2, 'its statement can be read')
    await until(async () => (await walletFigures(operator, 'acme')).held === '0')
    t.equal((await operator.events()).filter(({ type }) => type === 'RequestRouted').length, 1)
  },
)
