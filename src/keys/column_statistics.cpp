#include "keys/column_statistics.hpp"

namespace merganser {

unique_ptr<BaseStatistics> ColumnStatistics::Of(ClientContext &context, const LogicalGet &get,
                                                const ColumnIndex &column) {
	if (!get.function.statistics_extended) {
		return nullptr;
	}
	TableFunctionGetStatisticsInput input(get.bind_data.get(), column);
	return get.function.statistics_extended(context, input);
}

} // namespace merganser
