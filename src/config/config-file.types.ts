// Generated from schemas/ by `make generate`. Do not edit.

/**
 * gateway.yaml, after ${ENV_NAME} was filled in.
 */
export interface ConfigFile {
  /**
   * Where the edge answers clients.
   */
  readonly listen?: {
    /**
     * Default 127.0.0.1.
     */
    readonly host?: string
    /**
     * Default 8787; 0 takes a free one.
     */
    readonly port?: number
    /**
     * PEM files: the edge serves HTTPS, TLS 1.2 or later, and reloads them when they change. Absent: plain HTTP, for a load balancer in front.
     */
    readonly tls?: {
      /**
       * The certificate with its chain.
       */
      readonly cert_file: string
      /**
       * Its private key, without a passphrase.
       */
      readonly key_file: string
    }
  }
  /**
   * Where the embedded servers keep their state. Default ./data.
   */
  readonly data_folder?: string
  /**
   * An external PostgreSQL; DATABASE_URL overrides it. Without one, an embedded server is started.
   */
  readonly database_url?: string
  /**
   * The log's servers. Absent: an embedded one.
   */
  readonly nats?: {
    /**
     * External NATS servers, comma separated; NATS_URL overrides it.
     */
    readonly url?: string
    /**
     * Where the server answers /jsz, to check that it syncs every write.
     */
    readonly monitoring_url?: string
    /**
     * With password: how we authenticate.
     */
    readonly user?: string
    /**
     * Of user.
     */
    readonly password?: string
    /**
     * A file of credentials (JWT and seed), instead of user and password.
     */
    readonly credentials_file?: string
    /**
     * PEM files; an empty object trusts the system's authorities.
     */
    readonly tls?: {
      /**
       * Who signed the servers' certificates.
       */
      readonly ca_file?: string
      /**
       * Our certificate, where servers ask for one.
       */
      readonly cert_file?: string
      /**
       * The private key of cert_file.
       */
      readonly key_file?: string
    }
  }
  /**
   * The stream of events.
   */
  readonly log?: {
    /**
     * Prefix of the stream and its subjects. Default GATEWAY.
     */
    readonly name?: string
    /**
     * Default 1.
     */
    readonly replicas?: 1 | 3 | 5
    /**
     * relaxed: warn instead of refusing when a single replica is not synced.
     */
    readonly durability?: 'synced' | 'relaxed'
  }
  /**
   * By name, the first part of a model's id: who answers. Absent: those whose keys are in the environment, else the sandbox.
   */
  readonly providers?: {
    readonly [k: string]: {
      /**
       * The format of its API.
       */
      readonly dialect: 'openai' | 'anthropic' | 'google' | 'azure' | 'vertex' | 'bedrock' | 'vv-video'
      /**
       * How it counts usage. Default: by the provider's host or name, else openai.
       */
      readonly profile?: 'openai' | 'xai' | 'gemini'
      /**
       * Everything before /chat/completions, /messages, /responses, /models or /videos. For the dialect azure: https://<resource>.openai.azure.com/openai/v1, without /v1 where there is an api_version; for vertex https://<location>-aiplatform.googleapis.com/v1/projects/<project>/locations/<location>; for bedrock https://bedrock-runtime.<region>.amazonaws.com.
       */
      readonly base_url?: string
      /**
       * A video vendor can have a pair instead, and the dialect of a cloud an authentication.
       */
      readonly api_key?: string
      /**
       * Sent with each request, by lower-case name. The credential has its own member.
       */
      readonly headers?: {
        readonly [k: string]: string
      }
      /**
       * An HTTP proxy on the way there, with its user and password if it asks for them.
       */
      readonly proxy_url?: string
      /**
       * PEM: who signed its certificate, or the proxy's. Default: the system's authorities.
       */
      readonly ca_file?: string
      /**
       * Of a video vendor, with secret_key.
       */
      readonly access_key?: string
      /**
       * What its tokens are signed with.
       */
      readonly secret_key?: string
      /**
       * Of the dialect azure: a dated API version, whose addresses name the deployment. Default: its v1 API.
       */
      readonly api_version?: string
      readonly authentication?: Authentication
      /**
       * What one process asks of a video vendor in a second, at most. Default 10.
       */
      readonly calls_per_second?: number
      /**
       * Public name to upstream name, where they differ.
       */
      readonly models?: {
        readonly [k: string]: string
      }
      /**
       * Keys, regions and endpoints among which the workspaces of the provider are divided by weight. What one leaves out is the provider's.
       *
       * @minItems 1
       * @maxItems 64
       */
      readonly deployments?: {
        /**
         * Unique in the provider; the bill and the metrics have it.
         */
        readonly name: string
        /**
         * Default: that of the provider, as for the members that follow.
         */
        readonly base_url?: string
        /**
         * Its own key.
         */
        readonly api_key?: string
        readonly authentication?: Authentication
        /**
         * Its own headers, which replace those of the provider.
         */
        readonly headers?: {
          readonly [k: string]: string
        }
        /**
         * Its own proxy.
         */
        readonly proxy_url?: string
        /**
         * Its own authority.
         */
        readonly ca_file?: string
        /**
         * Default 1.
         */
        readonly weight?: number
        /**
         * Of one process. Beyond it, and beyond the tokens, the next deployment is called.
         */
        readonly requests_per_minute?: number
        /**
         * Of one process: input, and the output that a request may have.
         */
        readonly tokens_per_minute?: number
        /**
         * The models that it serves, public name to its name there. Default: all of the provider's.
         */
        readonly models?: {
          readonly [k: string]: string
        }
      }[]
      /**
       * What a provider with the dialect openai accepts beyond it. Default: by its name and its host.
       */
      readonly capabilities?: {
        /**
         * The values of service_tier that the provider accepts.
         */
        readonly service_tiers?: string[]
        /**
         * Whether it accepts stream_options.
         */
        readonly stream_options?: boolean
        /**
         * What it does with request members that it does not know.
         */
        readonly unknown_members?: 'accepted' | 'refused'
        /**
         * Whether it has a Responses API. Without one, requests of that surface are translated.
         */
        readonly responses?: boolean
        /**
         * The only name of the output limit that it obeys: a limit under the other name is renamed. Default: the name that the caller gave.
         */
        readonly output_limit?: 'max_tokens' | 'max_completion_tokens'
        /**
         * Request members that are forwarded although the provider charges for them beside the tokens: no workspace is billed for that. Default: none.
         */
        readonly allow_members?: ('plugins' | 'enable_search')[]
      }
      /**
       * Of one call upstream: until there is a connection (default and most 10), until the first byte of a stream (120), between two pieces (300), until the end of the answer (300 until the first byte of one that is not streamed, else none).
       */
      readonly timeouts?: {
        /**
         * Until there is a connection, TLS included. Default and most 10.
         */
        readonly connect_seconds?: number
        /**
         * Of a stream, until its first byte. Default 120.
         */
        readonly first_byte_seconds?: number
        /**
         * Between two pieces of an answer. Default 300.
         */
        readonly idle_seconds?: number
        /**
         * One call, until the end of the answer. Default: 300 until the first byte of an answer that is not streamed, else none.
         */
        readonly answer_seconds?: number
        /**
         * What differs, by public name of the model, without its provider; for its dated snapshots too.
         */
        readonly models?: {
          readonly [k: string]: {
            /**
             * Until there is a connection, TLS included. Default and most 10.
             */
            readonly connect_seconds?: number
            /**
             * Of a stream, until its first byte. Default 120.
             */
            readonly first_byte_seconds?: number
            /**
             * Between two pieces of an answer. Default 300.
             */
            readonly idle_seconds?: number
            /**
             * One call, until the end of the answer. Default: 300 until the first byte of an answer that is not streamed, else none.
             */
            readonly answer_seconds?: number
          }
        }
      }
      /**
       * Further calls of the same candidate before the next one (default 0), begun within the budget (10) since the first call began; models has what differs, by public name.
       */
      readonly retries?: {
        /**
         * How many further calls. Default 0.
         */
        readonly max?: number
        /**
         * After the first call began, within which a further one may begin. Default 10.
         */
        readonly budget_seconds?: number
        /**
         * What differs, by public name of the model, without its provider; for its dated snapshots too.
         */
        readonly models?: {
          readonly [k: string]: {
            /**
             * How many further calls. Default 0.
             */
            readonly max?: number
            /**
             * After the first call began, within which a further one may begin. Default 10.
             */
            readonly budget_seconds?: number
          }
        }
      }
      /**
       * How long a stream is read on for its usage after its client has left. Default 15; 60 where a cancel does not stop the provider's billing.
       */
      readonly drain_seconds?: number
      /**
       * Whether the provider bills only what it produced until a stream is cancelled. Default: true for OpenAI, Azure, Anthropic and xAI, by the name or the host, else false.
       */
      readonly cancel_stops_billing?: boolean
    }
  }
  /**
   * Whether the sandbox provider answers, and is billed, where no provider is configured. Default true with embedded servers, false on external ones.
   */
  readonly sandbox?: boolean
  /**
   * What is sent when a video has ended.
   */
  readonly callbacks?: {
    /**
     * What callbacks are signed with, by a secret of each workspace that is made of it. Without one there are none, unless the servers are embedded: then one is made and kept in the data folder.
     */
    readonly secret?: string
    /**
     * Whether callbacks may go to addresses that are not public. Default false.
     */
    readonly allow_private_addresses?: boolean
  }
  /**
   * Which names of models are accepted.
   */
  readonly models?: {
    /**
     * True: every dated name of a model is its snapshot, at the model's price. Default false: only those that the price file lists.
     */
    readonly accept_snapshots?: boolean
  }
  /**
   * Bare name to <provider>/<model>.
   */
  readonly aliases?: {
    readonly [k: string]: string
  }
  /**
   * gateway/<name>: what it tries.
   */
  readonly routers?: {
    readonly [k: string]: {
      /**
       * Models, by name or with a weight.
       *
       * @minItems 1
       * @maxItems 16
       */
      readonly candidates: (
        | string
        | {
            /**
             * <provider>/<model>, or an alias.
             */
            readonly model: string
            /**
             * Its part of the sum of all weights, where the order is weighted. Default 1.
             */
            readonly weight?: number
          }
      )[]
      /**
       * listed: tried in this order. weighted: the first is drawn by weight, the others follow likewise. Default listed.
       */
      readonly order?: 'listed' | 'weighted'
    }
  }
  /**
   * The price file. Default: the one that comes with the gateway.
   */
  readonly prices?: string
  /**
   * Calls of scripts in a browser. Off by default.
   */
  readonly cors?: {
    /**
     * Of pages whose scripts may call the API, such as `https://app.example`. Each is one origin: there are no patterns.
     *
     * @minItems 1
     * @maxItems 1000
     */
    readonly origins: string[]
  }
  /**
   * What bounds requests, and what one workspace or address can take.
   */
  readonly limits?: {
    /**
     * For each workspace. Off by default.
     */
    readonly requests_per_minute?: number
    /**
     * Open connections of one client address (of IPv6: of one /64) at one edge. Off by default: behind a load balancer all come from one.
     */
    readonly connections_per_address?: number
    /**
     * Bodies of the requests that are open at one edge, in MiB; beyond, 429 `byte_limit_exceeded`. Default 512.
     */
    readonly open_megabytes?: number
    /**
     * The same of one workspace, which also has at most as much as is free for others: at most half of `open_megabytes`. Default 64.
     */
    readonly workspace_open_megabytes?: number
    /**
     * Answers of one workspace that are stored under idempotency keys, in MiB; beyond, a new key is 429 `idempotency_quota_exceeded`. Default 1024.
     */
    readonly workspace_idempotency_megabytes?: number
    /**
     * From admission to the end of the answer. Default 600.
     */
    readonly request_deadline_seconds?: number
    /**
     * From the submit of a video task to its end; then its money goes back. Default 86400.
     */
    readonly task_deadline_seconds?: number
    /**
     * How long an edge that is stopping still takes requests while /readyz answers 503, so that a load balancer removes it first. Default 0.
     */
    readonly withdraw_seconds?: number
    /**
     * How long requests in flight may run on when the process is stopped. Default 15.
     */
    readonly drain_seconds?: number
  }
  /**
   * How the log is sealed.
   */
  readonly audit?: {
    /**
     * Whether the log is sealed by signed checkpoints. Default true; on external servers that takes a signing key.
     */
    readonly sealing?: boolean
    /**
     * Names the log in its checkpoints and is the name of its keys, such as gateway.example.com/ledger. Default: that of public_key, else gateway.local/ and the log's name in lower case.
     */
    readonly origin?: string
    /**
     * The private key that signs checkpoints: 32 bytes in base64, as `gateway audit key --new` makes them, or an Ed25519 key as PEM (PKCS #8). Embedded servers without one have a key of their own in the data folder.
     */
    readonly signing_key?: string
    /**
     * A file that holds it.
     */
    readonly signing_key_file?: string
    /**
     * The public key beside it, as `gateway audit key` prints it. On external servers every role needs it to start from snapshots: without it a role replays the log.
     */
    readonly public_key?: string
    /**
     * The file in which the scheduler keeps the size and root of the log that it signed last. Default: audit.state in the data folder.
     */
    readonly state?: string
    /**
     * Who cosigns checkpoints, by C2SP tlog-witness. Sealing never waits for them.
     */
    readonly witnesses?: {
      /**
       * How many of them must have cosigned what was sealed more than five minutes ago, or `gateway verify` proves nothing.
       */
      readonly quorum: number
      /**
       * At most 16.
       *
       * @minItems 1
       * @maxItems 16
       */
      readonly list: {
        /**
         * The prefix before /add-checkpoint.
         */
        readonly url: string
        /**
         * Its Ed25519 key, of type 4 (cosignature/v1) or 1: <name>+<id>+<key>.
         */
        readonly public_key: string
      }[]
    }
    /**
     * Seconds between two checkpoints that are sent to a witness. Default 60.
     */
    readonly witness_every?: number
    /**
     * The public keys of all that have signed checkpoints of this log before.
     */
    readonly previous_public_keys?: string[]
  }
  /**
   * Who may call /admin/v1. Without tokens all calls are refused, unless the servers are embedded: then one is made and kept in the data folder.
   */
  readonly admin?: {
    /**
     * At most 64.
     *
     * @maxItems 64
     */
    readonly tokens?: {
      /**
       * Who it is given to: what is changed with it is recorded as by admin:<name>.
       */
      readonly name: string
      /**
       * At least 32 characters.
       */
      readonly token: string
      /**
       * What it may do. Default owner: everything.
       */
      readonly role?: 'owner' | 'operator' | 'finance' | 'auditor' | 'support'
    }[]
  }
  /**
   * How people sign in to the page, beside keys and admin tokens.
   */
  readonly sign_in?: {
    /**
     * People sign in to the page at an OpenID Connect provider.
     */
    readonly oidc: {
      /**
       * The provider's issuer, under which its /.well-known/openid-configuration is.
       */
      readonly issuer: string
      /**
       * The gateway's, as the provider has registered it.
       */
      readonly client_id: string
      /**
       * Absent: a public client. PKCE is used in any case.
       */
      readonly client_secret?: string
      /**
       * Where browsers reach the edges. Register <public_url>/dashboard/session/oidc/callback as redirect URI.
       */
      readonly public_url: string
      /**
       * The provider's name on the sign-in page. Default: the issuer's host.
       */
      readonly label?: string
      /**
       * Default openid and email.
       *
       * @minItems 1
       * @maxItems 16
       */
      readonly scopes?: string[]
      /**
       * Who a change is recorded by, as person:<name>. Default email; sub where it is absent or not verified.
       */
      readonly name_claim?: string
      /**
       * The claim with a person's groups or roles, a text or a list. Default groups.
       */
      readonly role_claim?: string
      /**
       * The role for each value of the claim; the first that a person has counts. People without one are refused.
       */
      readonly roles: {
        readonly [k: string]: 'owner' | 'operator' | 'finance' | 'auditor' | 'support'
      }
      /**
       * Until a person is sent to the provider again, and the claim is read anew. Default 60.
       */
      readonly session_minutes?: number
    }
  }
  /**
   * The listener for operators: metrics and health.
   */
  readonly observe?: {
    /**
     * Default 127.0.0.1. Metrics and health are for operators, not for the public.
     */
    readonly host?: string
    /**
     * Of /metrics, /healthz and /readyz of every process. Default 9464, or a free one where that is taken; 0 takes a free one; off.
     */
    readonly port?: number | 'off'
  }
  /**
   * What invoices on closed months show. Absent: none can be issued.
   */
  readonly invoices?: {
    /**
     * Who issues them.
     */
    readonly seller: {
      /**
       * As it is printed.
       */
      readonly name: string
      /**
       * Line by line.
       *
       * @maxItems 10
       */
      readonly address: string[]
      /**
       * Such as a VAT number.
       */
      readonly tax_id?: string
    }
    /**
     * Before the number of each invoice. Default INV-.
     */
    readonly number_prefix?: string
    /**
     * Percent, of the net amount. Default 0.
     */
    readonly tax_rate?: string
    /**
     * By the id of a workspace, or of the account of several; others are named as their workspace is.
     */
    readonly buyers?: {
      readonly [k: string]: {
        /**
         * As it is printed.
         */
        readonly name: string
        /**
         * Line by line.
         *
         * @maxItems 10
         */
        readonly address: string[]
        /**
         * Such as a VAT number.
         */
        readonly tax_id?: string
        /**
         * Of this buyer.
         */
        readonly tax_rate?: string
      }
    }
  }
  /**
   * Thresholds are set by the admin API; see Alerts.
   */
  readonly alerts?: {
    /**
     * Where alerts are sent, by the name that rules have.
     */
    readonly destinations?: {
      readonly [k: string]: {
        /**
         * A signed webhook; one of Slack or whatever else takes {"text": …}; or mail, by the server of `smtp`.
         */
        readonly type: 'webhook' | 'slack' | 'email'
        /**
         * Where it is posted, unless it is mail.
         */
        readonly url?: string
        /**
         * Of mail: the address.
         */
        readonly to?: string
        /**
         * What webhooks are signed with: at least 16 characters of base64, after whsec_ if you like.
         */
        readonly secret?: string
      }
    }
    /**
     * The server that takes mail. It needs the package nodemailer beside this one.
     */
    readonly smtp?: {
      /**
       * smtps://host for TLS from the start; smtp://host:587 for STARTTLS where the server offers it, and with a password always.
       */
      readonly url: string
      /**
       * The account at the server.
       */
      readonly user?: string
      /**
       * Sent over TLS alone.
       */
      readonly password?: string
      /**
       * The address of the sender.
       */
      readonly from: string
    }
  }
  /**
   * Corrections of wallets.
   */
  readonly adjustments?: {
    /**
     * USD, whatever the sign: an adjustment of more is proposed, and posted when another administrator approves it. Credits are not bound, and several smaller adjustments are not added up. Absent: none is.
     */
    readonly approval_above?: string
  }
  /**
   * The names of tags that a request may carry, such as team and env.
   *
   * @maxItems 32
   */
  readonly tags?: string[]
  /**
   * Traces and metrics by OTLP over HTTP. The standard variables of OpenTelemetry, OTEL_…, take precedence.
   */
  readonly telemetry?: {
    /**
     * Of an OTLP receiver over HTTP, such as http://127.0.0.1:4318: /v1/traces and /v1/metrics are appended. Without it, here and in OTEL_EXPORTER_OTLP_ENDPOINT, nothing is traced or sent.
     */
    readonly endpoint?: string
    /**
     * Of the requests to it, such as authorization.
     */
    readonly headers?: {
      readonly [k: string]: string
    }
    /**
     * Default model-gateway.
     */
    readonly service_name?: string
    /**
     * Of all that is sent, such as deployment.environment.name.
     */
    readonly resource_attributes?: {
      readonly [k: string]: string
    }
    /**
     * Default true.
     */
    readonly traces?: boolean
    /**
     * Default true.
     */
    readonly metrics?: boolean
    /**
     * Which requests are traced. parentbased_…, the default, follows the decision in a client's traceparent; the others ignore it.
     */
    sampler?:
      | 'always_on'
      | 'always_off'
      | 'traceidratio'
      | 'parentbased_always_on'
      | 'parentbased_always_off'
      | 'parentbased_traceidratio'
    /**
     * Of traceidratio. Default 1.
     */
    readonly sample_ratio?: number
    /**
     * Default 60.
     */
    readonly metrics_interval_seconds?: number
  }
  /**
   * Whether the first start on embedded servers opens the workspace `demo`, with 100 USD and a key that it prints. Default true.
   */
  readonly demo?: boolean
  /**
   * How many processes serve clients, where roles share a process; auto: one less than there are cores, and one process for all on one or two. Default: one process for all. The option --workers takes precedence.
   */
  readonly workers?: number | 'auto'
  /**
   * Whether each request has a line at the level info. Default true.
   */
  readonly log_requests?: boolean
  /**
   * Default info.
   */
  readonly log_level?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
}
/**
 * In place of api_key: a credential that is issued for a time.
 */
export interface Authentication {
  /**
   * Which credential.
   */
  readonly type:
    | 'entra_application'
    | 'azure_managed_identity'
    | 'google_credentials'
    | 'aws_keys'
    | 'aws_profile'
    | 'aws_role'
  /**
   * Of an Entra application: its directory.
   */
  readonly tenant_id?: string
  /**
   * Of an Entra application, or of a user-assigned managed identity.
   */
  readonly client_id?: string
  /**
   * Of an Entra application.
   */
  readonly client_secret?: string
  /**
   * Entra's origin. Default https://login.microsoftonline.com.
   */
  readonly authority?: string
  /**
   * Of Entra's token. Default https://ai.azure.com/.default; with api_version https://cognitiveservices.azure.com/.default.
   */
  readonly scope?: string
  /**
   * Of google_credentials: JSON of a service account or a user. Default: application default credentials. Of aws_profile: the shared credentials file. Default: AWS_SHARED_CREDENTIALS_FILE, then ~/.aws/credentials.
   */
  readonly credentials_file?: string
  /**
   * Of AWS: what requests are signed for.
   */
  readonly region?: string
  /**
   * Of aws_keys.
   */
  readonly access_key_id?: string
  /**
   * Of aws_keys.
   */
  readonly secret_access_key?: string
  /**
   * Of aws_keys that are temporary.
   */
  readonly session_token?: string
  /**
   * Default: AWS_PROFILE, then default.
   */
  readonly profile?: string
}
