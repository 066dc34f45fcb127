//! The server: lists the tools and makes the calls, writes one after the other.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult, ErrorCode,
        Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::{Mutex, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    error::{Error, Result},
    ops::{self, Context, Tool, schema::JsonObject},
    workspace::{Cancel, Wait},
};

/// When to call what, for the model. Clients cut it at 2,048 characters.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// How long a write waits for the lock (`memory_write`, step 1).
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_secs(10);

/// The server of one client.
pub(super) struct Server {
    context: Context,
    tools: Vec<rmcp::model::Tool>,
    /// Handed on in the order in which it was asked for: writes take effect as they came.
    turn: Arc<Mutex<()>>,
    /// Calls that wait for the lock give up, and no other write begins.
    stopping: CancellationToken,
}

impl Server {
    pub(super) fn new(context: Context, stopping: CancellationToken) -> Self {
        let tools = ops::TOOLS.into_iter().map(published).collect();
        Self { context, tools, turn: Arc::default(), stopping }
    }

    async fn read(&self, tool: &'static Tool, arguments: JsonObject) -> Result<JsonObject> {
        let context = self.context.clone();
        let call = move || tool.call(&context, &Wait::default(), arguments).map(|answer| answer.result);
        tokio::task::spawn_blocking(call)
            .await
            .unwrap_or_else(|error| Err(Error::Internal { detail: error.to_string() }))
    }

    /// Makes a call that writes, once those before it are done. The answer comes when the change is
    /// safe; the next write waits until its files are synced as well.
    async fn write(
        &self,
        tool: &'static Tool,
        arguments: JsonObject,
        cancelled: CancellationToken,
    ) -> Result<JsonObject> {
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
            if let Some(Err(error)) = settling.map(crate::workspace::Settling::settle) {
                tracing::error!(%error, "the files of an answered call could not be made safe; the journal still holds it");
            }
        });
        let answer = tokio::select! {
            answer = &mut answer => answer,
            () = cancelled.cancelled() => { cancel.cancel(); answer.await }
            () = self.stopping.cancelled() => { cancel.cancel(); answer.await }
        };
        answer.unwrap_or_else(|_| Err(Error::Internal { detail: format!("`{}` panicked", tool.name) }))
    }
}

/// A tool as clients see it.
fn published(tool: &Tool) -> rmcp::model::Tool {
    let annotations = ToolAnnotations::with_title(tool.title)
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
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info =
            Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).with_title("Companion memory");
        info.instructions = Some(INSTRUCTIONS.to_owned());
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
        let Some(tool) = ops::find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let result = if tool.is_read_only() {
            self.read(tool, arguments).await
        } else {
            self.write(tool, arguments, context.ct.clone()).await
        };
        let result = match result {
            Ok(result) => CallToolResult::structured(Value::Object(result)),
            // Text only: some clients hold what is structured against the schema of a success.
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.report())]),
        };
        Ok(result.into())
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
            ErrorData::invalid_params(format!("the parameters of `{}` are malformed", request.method), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)
        })
    }
}
