import t from 'tap'
import { listSecrets } from '../../src/cli/faults.ts'
import { alertDestinationsFrom } from '../../src/config/alerts.ts'
import { readConfig } from '../../src/config/config.ts'
import { ConfigError, type ConfigProblem } from '../../src/config/config-error.ts'

const smtp = { url: 'smtps://mail.example', from: 'gateway@example.com' }
const mail = { type: 'email', to: 'ops@example.com' } as const

const problemsOf = (alerts: Parameters<typeof alertDestinationsFrom>[0]['alerts'], isInstalled = true) => {
  const problems: ConfigProblem[] = []
  alertDestinationsFrom({ alerts: alerts! }, 'scheduler', problems, () => isInstalled)
  return problems.map(({ path, message }) => `${path} ${message}`)
}

t.test('destinations have what their type needs, and nothing else', async (t) => {
  t.same(problemsOf({ destinations: { a: { type: 'slack', url: 'https://slack.example' }, b: mail }, smtp }), [])
  t.same(
    problemsOf({
      destinations: {
        hook: { type: 'webhook', url: 'https://ops.example', secret: 'short' },
        team: { type: 'slack', url: 'ftp://slack.example', secret: 'a-secret-of-a-test' },
        post: { type: 'email', url: 'https://mail.example' },
      },
      smtp,
    }),
    [
      'alerts.destinations.hook.secret has fewer than 16 characters of base64',
      'alerts.destinations.team.secret is not for slack',
      'alerts.destinations.team.url is no http address',
      'alerts.destinations.post.url is not for email',
      'alerts.destinations.post.to is required',
    ],
  )
})

t.test('a secret has as much that is decoded as is asked for', async (t) => {
  const problemsWith = (secret: string) =>
    problemsOf({ destinations: { hook: { type: 'webhook', url: 'https://ops.example', secret } } })
  for (const secret of ['whsec_MfKQ9r8GKYqrTwjU', 'MfKQ9r8GKYqrTwjU', 'a-secret-of-a-test', 'a secret of some words'])
    t.same(problemsWith(secret), [], secret)
  for (const secret of ['whsec_0123456789', '!'.repeat(40), 'whsec_'])
    t.same(problemsWith(secret), ['alerts.destinations.hook.secret has fewer than 16 characters of base64'], secret)
})

t.test('mail needs a server, and the package that sends it', async (t) => {
  const destinations = { post: mail }
  t.same(problemsOf({ destinations }), ['alerts.smtp is required by the destination post'])
  t.same(problemsOf({ destinations, smtp: { ...smtp, url: 'smtp://me:a@mail.example' } }), [
    'alerts.smtp.url has a user or password, which are members of their own',
  ])
  t.same(problemsOf({ destinations, smtp: { ...smtp, url: 'mail.example:587' } }), [
    'alerts.smtp.url is no smtp or smtps address',
  ])
  t.same(problemsOf({ destinations, smtp: { ...smtp, url: 'smtps://mail.example:465/' } }), [])
  for (const rest of ['?requireTLS=false', '/?tls.rejectUnauthorized=false', '/a'])
    t.same(problemsOf({ destinations, smtp: { ...smtp, url: `smtp://mail.example:587${rest}` } }), [
      'alerts.smtp.url has a path or query: only host and port belong there',
    ])
  t.same(problemsOf({ destinations, smtp }, false), [
    'alerts.destinations.post mail needs the package nodemailer, which is not installed: npm install nodemailer',
  ])
  t.same(problemsOf({ smtp }, false), [], 'a server alone needs no package')
})

t.test('addresses are checked, and the password is a secret of the scheduler', async (t) => {
  const configOf = (to: string, env: Record<string, string>) => {
    const content = {
      alerts: { destinations: { post: { ...mail, to } }, smtp: { ...smtp, user: 'me', password: '${SMTP}' } },
    }
    return readConfig(env, { file: `${t.testdir({ 'gateway.yaml': JSON.stringify(content) })}/gateway.yaml` })
  }
  t.ok(listSecrets(configOf('ops@example.com', { SMTP: 'a/b@c' })).includes('a/b@c'))
  for (const to of ['ops', 'a@b@c', 'ops@example.com\r\nbcc: x@example.com'])
    try {
      configOf(to, { SMTP: 'a' })
      t.fail(to)
    } catch (fault) {
      t.ok(fault instanceof ConfigError)
      t.match((fault as Error).message, 'alerts.destinations.post.to')
    }
})
