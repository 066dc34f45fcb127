//! The server: lists the tools and makes the calls, writes one after the other.

use std::{convert::Infallible, sync::Arc, time::Duration};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo,
        ContentBlock, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptMessage,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, Resource, ResourceContents,
        ResourceTemplate, Role, ServerCapabilities, ServerConfig, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::{Mutex, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    ops::{
        self, Context, Tool, Toolset,
        resources::{self, RESOURCES, TEMPLATES},
        schema::JsonObject,
    },
    workspace::{Cancel, Wait},
};

/// When to call what, for the model, by what is served. Clients cut it at 2,048 characters.
fn instructions(toolset: Toolset) -> &'static str {
    match toolset {
        Toolset::All | Toolset::Write => include_str!("instructions.md"),
        Toolset::Distill => include_str!("instructions_distill.md"),
        Toolset::Read => include_str!("instructions_read.md"),
    }
}

/// A procedure in terms of the tools.
struct Procedure {
    name: &'static str,
    description: &'static str,
    text: &'static str,
    /// The tool without which it cannot be followed.
    tool: &'static str,
}

const PROMPTS: [Procedure; 2] = [
    Procedure {
        name: "memory_write",
        description: "What to record at the end of a conversation, and how.",
        text: include_str!("memory_write.md"),
        tool: "record_conversation",
    },
    Procedure {
        name: "memory_distill",
        description: "How to distill the last messages, for an hourly job.",
        text: include_str!("memory_distill.md"),
        tool: "distill_commit",
    },
];

const SCHEME: &str = "memory://";
const MARKDOWN: &str = "text/markdown";

/// How long a write waits for the lock (`memory_write`, step 1).
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The server of one client.
pub(super) struct Server {
    context: Context,
    toolset: Toolset,
    tools: Vec<rmcp::model::Tool>,
    /// Handed on in the order in which it was asked for: writes take effect as they came.
    turn: Arc<Mutex<()>>,
    /// Calls that wait for the lock give up, and no other write begins.
    stopping: CancellationToken,
}

impl Server {
    pub(super) fn new(context: Context, toolset: Toolset, stopping: CancellationToken) -> Self {
        let tools = toolset.tools().map(published).collect();
        Self { context, toolset, tools, turn: Arc::default(), stopping }
    }

    /// The prompts that the tools of this server can follow.
    fn prompts(&self) -> impl Iterator<Item = &'static Procedure> {
        PROMPTS.iter().filter(|prompt| self.toolset.has(prompt.tool))
    }

    async fn read(&self, tool: &'static Tool, arguments: JsonObject) -> Result<JsonObject> {
        let context = self.context.clone();
        blocking(move || tool.call(&context, &Wait::default(), arguments).map(|answer| answer.result)).await
    }

    /// Makes a call that writes, once those before it are done. The answer comes when the change is
    /// safe; the next write waits until its files are synced as well.
    async fn write(
        &self,
        tool: &'static Tool,
        arguments: JsonObject,
        request: &RequestContext<RoleServer>,
    ) -> Result<JsonObject> {
        let cancelled = &request.ct;
        let turn = Arc::clone(&self.turn).lock_owned();
        let turn = tokio::select! {
            biased;
            turn = turn => turn,
            () = cancelled.cancelled() => return Err(Error::Internal { detail: "the call was cancelled".to_owned() }),
        };
        if self.stopping.is_cancelled() {
            // Neither done nor answered.
            return std::future::pending().await;
        }
        let wait = Wait { limit: LOCK_WAIT, cancel: Cancel::default() };
        let cancel = wait.cancel.clone();
        let context = self.context.clone();
        let (sender, mut answer) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let (result, settling) = match tool.call(&context, &wait, arguments) {
                Ok(answer) => (Ok(answer.result), answer.settling),
                Err(error) => (Err(error), None),
            };
            // Nobody waits for the answer to a cancelled call.
            let _ = sender.send(result);
            if let Some(settling) = settling {
                settling.settle_answered();
            }
        });
        let answer = tokio::select! {
            answer = &mut answer => answer,
            () = cancelled.cancelled() => { cancel.cancel(); answer.await }
            () = self.stopping.cancelled() => { cancel.cancel(); answer.await }
            never = report_progress(request) => match never {},
        };
        answer.unwrap_or_else(|_| Err(Error::Internal { detail: format!("`{}` panicked", tool.name) }))
    }
}

/// Tells a client that asked for it each second how long its call has been at work.
async fn report_progress(request: &RequestContext<RoleServer>) -> Infallible {
    let Some(token) = request.meta.get_progress_token() else { return std::future::pending().await };
    let limit = LOCK_WAIT.as_secs_f64();
    let mut seconds = 0.0;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        seconds += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), seconds).with_total(limit);
        let told = request.peer.notify_progress(progress.with_message("waiting for another program's lock")).await;
        if told.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Reads files on another thread.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(Error::Internal { detail: error.to_string() }))
}

/// An error of something that is no tool.
fn protocol_error(error: &Error) -> ErrorData {
    ErrorData::internal_error(error.report(), None)
}

/// A tool as clients see it.
fn published(tool: &Tool) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.is_read_only())
        .destructive(tool.is_destructive())
        .idempotent(tool.is_idempotent())
        .open_world(false);
    rmcp::model::Tool::new(tool.name, tool.description().to_owned(), Arc::new(tool.input_schema().clone()))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output_schema().clone()))
        .with_annotations(annotations)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(
            ServerCapabilities::builder()
                .enable_tools()
                .enable_resources()
                .enable_prompts()
                .enable_completions()
                .build(),
        );
        info.server_info =
            Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).with_title("Companion memory");
        info.instructions = Some(instructions(self.toolset).to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ops::find(&request.name).filter(|tool| self.toolset.has(tool.name)) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let result = if tool.changes_memory() {
            self.write(tool, arguments, &context).await
        } else {
            self.read(tool, arguments).await
        };
        let result = match result {
            Ok(result) => CallToolResult::structured(Value::Object(result)),
            // Text only: some clients hold what is structured against the schema of a success.
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.report())]),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = RESOURCES.iter().map(|resource| {
            Resource::new(format!("{SCHEME}{}", resource.name), resource.name)
                .with_title(resource.title)
                .with_description(resource.description)
                .with_mime_type(MARKDOWN)
        });
        Ok(ListResourcesResult::with_all_items(listed.collect()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let listed = TEMPLATES.iter().map(|(name, variable, description)| {
            ResourceTemplate::new(format!("{SCHEME}{name}/{{{variable}}}"), format!("{name}_{variable}"))
                .with_description(*description)
                .with_mime_type(MARKDOWN)
        });
        Ok(ListResourceTemplatesResult::with_all_items(listed.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let unknown = || ErrorData::resource_not_found(format!("there is no resource `{uri}`"), None);
        let name = uri.strip_prefix(SCHEME).ok_or_else(unknown)?.to_owned();
        let context = self.context.clone();
        let text = blocking(move || resources::read(&context, &name)).await.map_err(|error| protocol_error(&error))?;
        let text = text.ok_or_else(unknown)?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MARKDOWN)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let listed = self.prompts().map(|prompt| Prompt::new(prompt.name, Some(prompt.description), None));
        Ok(ListPromptsResult::with_all_items(listed.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let found = self.prompts().find(|prompt| prompt.name == request.name);
        let unknown = || ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None);
        let Procedure { description, text, .. } = found.ok_or_else(unknown)?;
        let message = PromptMessage::new_text(Role::User, *text);
        Ok(GetPromptResult::new(vec![message]).with_description(*description).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let name = match &request.r#ref {
            Reference::Resource(resource) => resource.uri.strip_prefix(SCHEME).and_then(|rest| rest.split('/').next()),
            _ => None,
        };
        let (name, start) = (name.unwrap_or("").to_owned(), request.argument.value);
        let context = self.context.clone();
        let mut values = blocking(move || resources::complete(&context, &name, &start))
            .await
            .map_err(|error| protocol_error(&error))?;
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(CompleteResult::new(info))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // rmcp takes a known method whose parameters it cannot read for an unknown one.
        let is_known =
            matches!(request.method.as_str(), "tools/call" | "tools/list" | "ping" | "server/discover" | "initialize");
        Err(if is_known {
            let expected = match request.method.as_str() {
                "tools/call" => "an object with `name`, a text, and `arguments`, an object",
                _ => "an object as the protocol has it",
            };
            ErrorData::invalid_params(
                format!("the parameters of `{}` are malformed, expected {expected}", request.method),
                None,
            )
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)
        })
    }
}
